"""A network between two hosts that we disturb on purpose, and the truth about what happened to every packet.

Three network namespaces in a row, client, middle, server, joined by veth pairs. In the middle a forwarder of our own
passes frames on, later, twice or not at all, by a seeded choice, and logs what it did (the kernel may lack netem). Both
ends are captured. What runs in client and server is real: nats-server and nats-py. Needs Linux and root:

    with Lab.open(tmp_path, Disturbance(lost=0.02, seed=7)) as lab:
        lab.publish(300)
    lab.server_side.path       the capture at the server's end
    truth(lab, SERVER_SIDE)    the label of every packet in it

`lab_or_skip` skips a test with the reason where namespaces cannot be had.
"""

from tests.lab.network import Lab, lab_or_skip
from tests.lab.plan import Disturbance
from tests.lab.truth import Truth, truth

__all__ = ["Disturbance", "Lab", "Truth", "lab_or_skip", "truth"]
