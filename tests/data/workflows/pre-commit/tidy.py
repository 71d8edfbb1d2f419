import os

print("x")
