"""Draw the line, the agent and the goal."""

from puffer_ocean.canvas import AMBER, PANEL, TEAL, Canvas

CELL = 36  # pixels; at most WIDTH of them in all
WIDTH = 720
KEYS = {"left": 0, "right": 1}  # `puffer play`: the actions of keys


def draw(state, arguments):
    """Draw one environment.

    Args:
        state: what the C `render` wrote: the agent's cell, the side of the goal (-1 or 1).
        arguments: the environment's arguments.

    Returns:
        (height, width, 3) bytes.
    """
    size = arguments["size"]
    cell = min(CELL, WIDTH / size)
    agent, goal = int(state[0]), 0 if state[1] < 0 else size - 1
    canvas = Canvas(3 * CELL, max(round(size * cell), 2 * CELL))
    canvas.box(0, CELL, size * cell, CELL, PANEL)
    canvas.box(goal * cell, CELL, cell, CELL, AMBER)
    middle = (agent + 0.5) * cell
    canvas.line(middle, 1.5 * CELL, middle, 1.5 * CELL, 0.6 * CELL, TEAL)
    return canvas.picture()
