"""What a program means before it is compiled: avals, jaxprs, tracing, primitives."""
