from inner import *
