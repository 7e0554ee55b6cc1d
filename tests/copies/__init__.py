"""Tests of throwaway copies, of what is taken from them, and of the vault."""
