"""The label-free model: rival geometries, fusion of views, null model, number of clusters."""
