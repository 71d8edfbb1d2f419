import os

print('x')
