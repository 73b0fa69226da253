"""A session of one workspace: commands in, frames out, and what is between.

session.py          when something is computed, and what is shown
apply.py            what a command makes of the evidence, the lanes or the limits
  painting.py       set a pixel                 apply_to_graph.py  add a node
  inverses.py       keep the inverse            undo.py            stack it, and take the last step back
timeline.py         at which iteration it applied, and any iteration computed again
  lanes.py          a point on the timeline     history.py         points that are kept
  lane_runner.py    one iteration of every lane held.py            what they take in memory
frame_maker.py      make a frame
  measurements.py   its numbers                 comparison.py      lanes against a reference
  label_pictures.py beliefs of labels as pictures
document.py         what a person gave          exact_reference.py the truth, where it can be computed
  photo.py          its photograph
recovery.py         what a killed window leaves
"""
