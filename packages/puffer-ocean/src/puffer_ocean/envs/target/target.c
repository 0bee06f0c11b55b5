/* Target: agents drive to targets, each of which is there for who comes first.
 *
 * Lengths in pixels, y grows downwards. In each step an agent turns and changes its speed, then
 * drives on; walls stop it, agents pass through each other. They do so one after the other, in the
 * order of their numbers: who comes within `radius` of a target scores, and the target appears
 * elsewhere. There are 32 headings, 11.25 degrees apart, 0 to the right, 8 downwards.
 *
 * Observation in [-1, 1], places as the driver sees them: how far ahead each target is / (diagonal
 * of the world + 1), how far to the right each is, the same two of each other agent in the order of
 * numbers from the own one on; then speed / `max_speed`, x and y from -1 to 1, cosine and sine of
 * the heading. Actions: turn by -2, -1, 0, 1, 2 headings; brake, coast, accelerate by one pixel a
 * step. Reward: `reward_target`. score: targets. perf: score / targets that lie on such a way at
 * full speed, at most 1, if each is sqrt(area / n) / 2 from the last and the agents share them
 * fairly, n being the number of targets or of agents, the larger. */
#include "puffer_env.h"

#include <math.h>
#include <string.h>

#define MAX_AGENTS 64
#define MAX_TARGETS 16
#define HEADINGS 32
#define OWN 5 /* numbers that an agent sees of itself */

enum { WIDTH, HEIGHT, NUM_AGENTS, NUM_TARGETS, RADIUS, MAX_SPEED, MAX_STEPS, REWARD_TARGET };

static const puffer_arg ARGS[] = {
    PUFFER_INT("width", 512, 128, 4096, "pixels"),
    PUFFER_INT("height", 512, 128, 4096, "pixels"),
    PUFFER_INT("num_agents", 8, 1, MAX_AGENTS, "agents"),
    PUFFER_INT("num_targets", 4, 1, MAX_TARGETS, "targets"),
    PUFFER_FLOAT("radius", 32, 1, 64, "how near counts as there, pixels"),
    PUFFER_FLOAT("max_speed", 8, 1, 32, "pixels a step"),
    PUFFER_INT("max_steps", 512, 1, 1e6, "steps of an episode"),
    PUFFER_FLOAT("reward_target", 1, 0, 1, "reward for a target"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

/* The places of the agents stand twice, one behind the other: those of the others are in one piece,
 * from the next agent on. */
typedef struct {
    float x[2 * MAX_AGENTS];
    float y[2 * MAX_AGENTS];
    float targets_x[MAX_TARGETS];
    float targets_y[MAX_TARGETS];
    float speeds[MAX_AGENTS];
    int32_t headings[MAX_AGENTS];
    int32_t scores[MAX_AGENTS];
    int32_t tick;
} State;

/* sin(2 pi k / 32), and so far on that SINE[k + 8] is the cosine. */
PUFFER_TABLE float SINE[HEADINGS + HEADINGS / 4] = {
    0.00000000f,  0.19509032f,  0.38268343f,  0.55557023f,  0.70710678f,  0.83146961f,
    0.92387953f,  0.98078528f,  1.00000000f,  0.98078528f,  0.92387953f,  0.83146961f,
    0.70710678f,  0.55557023f,  0.38268343f,  0.19509032f,  0.00000000f,  -0.19509032f,
    -0.38268343f, -0.55557023f, -0.70710678f, -0.83146961f, -0.92387953f, -0.98078528f,
    -1.00000000f, -0.98078528f, -0.92387953f, -0.83146961f, -0.70710678f, -0.55557023f,
    -0.38268343f, -0.19509032f, 0.00000000f,  0.19509032f,  0.38268343f,  0.55557023f,
    0.70710678f,  0.83146961f,  0.92387953f,  0.98078528f};

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t agents = (int32_t)args[NUM_AGENTS], targets = (int32_t)args[NUM_TARGETS];
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = 2 * targets + 2 * (agents - 1) + OWN;
    spec->num_agents = agents;
    puffer_discrete(spec, 5);
    puffer_discrete(spec, 3);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 2 * targets + 4 * agents;
    return NULL;
}

/* `count` places as seen from (x, y): ahead and to the right, times the lengths of c and s. */
PUFFER_FN void look(const float *xs, const float *ys, int32_t count, float x, float y, float c,
                    float s, float *__restrict out) {
    for (int32_t k = 0; k < count; k++) {
        const float dx = xs[k] - x, dy = ys[k] - y;
        out[k] = dx * c + dy * s;
        out[count + k] = dy * c - dx * s;
    }
}

PUFFER_FN void observe_all(const puffer_env *env, const State *s, int32_t agents, int32_t targets) {
    const float width = (float)env->args[WIDTH], height = (float)env->args[HEIGHT];
    const float scale = 1 / (sqrtf(width * width + height * height) + 1);
    const float per_width = 2 / width, per_height = 2 / height;
    const float per_speed = 1 / (float)env->args[MAX_SPEED];
    const int32_t others = agents - 1;
    float *obs = (float *)env->observations;
    for (int32_t i = 0; i < agents; i++) {
        const float x = s->x[i], y = s->y[i];
        const float cosine = SINE[s->headings[i] + HEADINGS / 4], sine = SINE[s->headings[i]];
        look(s->targets_x, s->targets_y, targets, x, y, cosine * scale, sine * scale, obs);
        obs += 2 * targets;
        look(s->x + i + 1, s->y + i + 1, others, x, y, cosine * scale, sine * scale, obs);
        obs += 2 * others;
        obs[0] = s->speeds[i] * per_speed;
        obs[1] = x * per_width - 1;
        obs[2] = y * per_height - 1;
        obs[3] = cosine;
        obs[4] = sine;
        obs += OWN;
    }
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    const int32_t agents = env->spec->num_agents, targets = (int32_t)env->args[NUM_TARGETS];
    if (agents == 8 && targets == 4) /* fixed numbers are faster */
        observe_all(env, s, 8, 4);
    else
        observe_all(env, s, agents, targets);
}

PUFFER_FN void place_target(puffer_env *env, State *s, int32_t k) {
    s->targets_x[k] = puffer_uniform(&env->rng, 0, (float)env->args[WIDTH]);
    s->targets_y[k] = puffer_uniform(&env->rng, 0, (float)env->args[HEIGHT]);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t agents = env->spec->num_agents;
    for (int32_t k = 0; k < (int32_t)env->args[NUM_TARGETS]; k++) place_target(env, s, k);
    for (int32_t i = 0; i < agents; i++) {
        s->x[i] = s->x[agents + i] = puffer_uniform(&env->rng, 0, (float)env->args[WIDTH]);
        s->y[i] = s->y[agents + i] = puffer_uniform(&env->rng, 0, (float)env->args[HEIGHT]);
        s->headings[i] = puffer_randint(&env->rng, HEADINGS);
        s->speeds[i] = 0;
        s->scores[i] = 0;
    }
    s->tick = 0;
    observe(env, s);
}

PUFFER_FN void report(const puffer_env *env, const State *s) {
    const double agents = env->args[NUM_AGENTS], targets = env->args[NUM_TARGETS];
    const double area = env->args[WIDTH] * env->args[HEIGHT];
    const double way = sqrt(area / (agents > targets ? agents : targets)) / 2;
    const double share = agents > targets ? targets / agents : 1;
    const double par = env->args[MAX_SPEED] * env->max_steps / way * share;
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        double *log = puffer_log(env, i);
        log[0] = s->scores[i];
        log[1] = s->scores[i] < par ? s->scores[i] / par : 1;
    }
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t *actions = (const int32_t *)env->actions;
    const int32_t agents = env->spec->num_agents, targets = (int32_t)env->args[NUM_TARGETS];
    const float width = (float)env->args[WIDTH], height = (float)env->args[HEIGHT];
    const float fastest = (float)env->args[MAX_SPEED], radius = (float)env->args[RADIUS];
    for (int32_t i = 0; i < agents; i++) {
        const int32_t heading = (s->headings[i] + actions[2 * i] - 2) & (HEADINGS - 1);
        const float speed =
            puffer_clamp(s->speeds[i] + (float)(actions[2 * i + 1] - 1), 0, fastest);
        const float x = puffer_clamp(s->x[i] + speed * SINE[heading + HEADINGS / 4], 0, width);
        const float y = puffer_clamp(s->y[i] + speed * SINE[heading], 0, height);
        s->headings[i] = heading;
        s->speeds[i] = speed;
        s->x[i] = s->x[agents + i] = x;
        s->y[i] = s->y[agents + i] = y;
        for (int32_t k = 0; k < targets; k++) {
            const float dx = s->targets_x[k] - x, dy = s->targets_y[k] - y;
            if (dx * dx + dy * dy > radius * radius) continue;
            s->scores[i]++;
            env->rewards[i] += (float)env->args[REWARD_TARGET];
            place_target(env, s, k);
        }
    }
    if (++s->tick == env->max_steps) report(env, s);
    observe(env, s);
}

/* x and y of each target; then x, y, heading and targets of each agent. */
static void render(const puffer_env *env, const State *s, float *out) {
    for (int32_t k = 0; k < (int32_t)env->args[NUM_TARGETS]; k++) {
        *out++ = s->targets_x[k];
        *out++ = s->targets_y[k];
    }
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        *out++ = s->x[i];
        *out++ = s->y[i];
        *out++ = (float)s->headings[i];
        *out++ = (float)s->scores[i];
    }
}

#define PUFFER_NAME "target"
#include "puffer_harness.h"
