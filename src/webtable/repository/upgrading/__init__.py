"""Bringing what earlier versions have stored to what this one stores."""
