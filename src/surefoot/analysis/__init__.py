"""Analyses over `Scores`: what is compared with what, and the tables that follow."""
