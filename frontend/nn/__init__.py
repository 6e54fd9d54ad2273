"""Functions for neural networks: activations, normalisation, initializers."""
