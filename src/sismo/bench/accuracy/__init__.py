"""How often sismo is right about runs that were trained to fail: the lab's faults and healthy kinds, on every model, over many seeds."""
