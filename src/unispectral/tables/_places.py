"""Latitude and longitude as points of a sphere, so that distances are those on the Earth."""

from __future__ import annotations

import numpy as np

#: Mean radius of the Earth in kilometres (IUGG).
RADIUS = 6371.0088
PLACE = ("x", "y", "z")


def place_values(degrees: np.ndarray) -> np.ndarray:
    """Points in space, in kilometres, of latitudes and longitudes in degrees.

    The straight line between two of them puts pairs in the same order as the great circle does,
    and is shorter by less than 1 per cent up to 3,000 km.

    >>> berlin, paris = place_values(np.array([[52.52, 13.405], [48.857, 2.352]]))
    >>> round(float(np.linalg.norm(berlin - paris)))
    877
    """
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    points = [flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)]
    return RADIUS * np.column_stack(points)


def place_degrees(points: np.ndarray) -> np.ndarray:
    """Latitudes and longitudes in degrees of points in space; the way back of `place_values`.

    Longitudes of places on both sides of 180 degrees go on beyond it.

    >>> place_degrees(place_values(np.array([[-17.8, 178.0], [-21.1, -175.2]]))).round(1).tolist()
    [[-17.8, 178.0], [-21.1, 184.8]]
    """
    x, y, z = points.T
    latitude = np.degrees(np.arctan2(z, np.hypot(x, y)))
    longitude = np.degrees(np.arctan2(y, x))
    beyond = longitude % 360.0
    if np.ptp(longitude) > 180.0 > np.ptp(beyond):
        longitude = beyond
    return np.column_stack([latitude, longitude])


def place_spread(points: np.ndarray) -> float:
    """What to divide the three coordinates by, so that they count as two columns."""
    total = float(np.var(points, axis=0).sum())
    return float(np.sqrt(total / 2.0)) if total > 0 else 1.0
