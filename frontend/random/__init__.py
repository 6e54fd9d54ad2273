"""Pseudo-random numbers from explicit keys."""
