"""The field: every installed method on suite, shapes, views and tables, one leaderboard."""
