// One direction of an LSTM through all positions of 32 texts, in one launch, by a cluster of 8 blocks that share out its units.
//
// Each block keeps the recurrent weights of its UNITS units in registers. At every position, forward sends its states to all blocks, and
// backward sends to each block what its gates add to the gradient of that block's states. Two buffers take turns, so that one barrier of
// the cluster a position is enough. No sum depends on who comes first: the same numbers give the same bytes.
//
// HIDDEN, UNITS (a multiple of 4, at least HIDDEN / 8) and STRIDE (UNITS, or 4 more where that spares bank conflicts) are defined before.
// Grid: 8 blocks; in y one for 32 texts, in z one for a direction. Tensors are [direction, position, text, …], gates in torch's order.

constexpr int BLOCKS = 8, TEXTS = 32, THREADS = 16 * UNITS, QUADS = UNITS / 4;

__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Four numbers to where another block of the cluster has what this one has `here`.
__device__ __forceinline__ void send(const float* here, int block, float4 numbers) {
    unsigned local = static_cast<unsigned>(__cvta_generic_to_shared(here)), there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(local), "r"(block));
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "r"(there), "f"(numbers.x), "f"(numbers.y), "f"(numbers.z), "f"(numbers.w) : "memory");
}

// Sums over lanes that differ in `bit`: each of the two keeps one half of the texts.
template <int HALF>
__device__ __forceinline__ void halve(float (&sums)[4][8], int bit) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int row = 0; row < 4; ++row)
#pragma unroll
        for (int text = 0; text < HALF; ++text) {
            const float given = upper ? sums[row][text] : sums[row][text + HALF];
            const float kept = upper ? sums[row][text + HALF] : sums[row][text];
            sums[row][text] = kept + __shfl_xor_sync(0xffffffffu, given, bit);
        }
}

// Four rows of weights times the numbers of eight texts.
__device__ __forceinline__ void multiply(float (&sums)[4][8], const float (&weights)[4][UNITS], const float* numbers, int stride) {
#pragma unroll
    for (int text = 0; text < 8; ++text) {
        const float4* row = reinterpret_cast<const float4*>(numbers + text * stride);
#pragma unroll
        for (int gate = 0; gate < 4; ++gate) sums[gate][text] = 0.0f;
#pragma unroll
        for (int quad = 0; quad < QUADS; ++quad) {
            const float4 four = row[quad];
#pragma unroll
            for (int gate = 0; gate < 4; ++gate) {
                sums[gate][text] = fmaf(weights[gate][4 * quad], four.x, sums[gate][text]);
                sums[gate][text] = fmaf(weights[gate][4 * quad + 1], four.y, sums[gate][text]);
                sums[gate][text] = fmaf(weights[gate][4 * quad + 2], four.z, sums[gate][text]);
                sums[gate][text] = fmaf(weights[gate][4 * quad + 3], four.w, sums[gate][text]);
            }
        }
    }
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// A thread has the four gates of one unit, for one block's share of the states before and 16 of the texts. After the sums over shares it
// has whole gates of two texts.
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(THREADS)
lstm_forward(const float* inputs, const float* recurrent, float* gates, float* cells, float* states, int positions, int texts) {
    extern __shared__ float4 memory[];
    constexpr int ROW = BLOCKS * STRIDE;
    float* before = reinterpret_cast<float*>(memory);  // [2][TEXTS][BLOCKS][STRIDE]
    const int block = blockIdx.x, half = threadIdx.x / (8 * UNITS), within = threadIdx.x % (8 * UNITS);
    const int unit = within / 8, share = within % 8, number = block * UNITS + unit, lane = threadIdx.x % 32;
    const bool real = number < HIDDEN;
    const long long of_direction = static_cast<long long>(blockIdx.z) * positions * texts * HIDDEN;
    inputs += 4 * of_direction, gates += 4 * of_direction, cells += of_direction, states += of_direction;
    recurrent += static_cast<long long>(blockIdx.z) * 4 * HIDDEN * HIDDEN;

    float weights[4][UNITS];
#pragma unroll
    for (int gate = 0; gate < 4; ++gate)
#pragma unroll
        for (int i = 0; i < UNITS; ++i) {
            const int from = share * UNITS + i;
            weights[gate][i] = real && from < HIDDEN ? recurrent[(gate * HIDDEN + number) * HIDDEN + from] : 0.0f;
        }
    for (int i = threadIdx.x; i < 2 * TEXTS * ROW; i += THREADS) before[i] = 0.0f;
    cluster_barrier();

    float cell[2] = {0.0f, 0.0f};
    for (int position = 0; position < positions; ++position) {
        const float* now = before + (position % 2) * TEXTS * ROW;
        float* next = before + ((position + 1) % 2) * TEXTS * ROW;
        float given[2][4];
#pragma unroll
        for (int group = 0; group < 2; ++group) {
            const int text = blockIdx.y * TEXTS + half * 16 + group * 8 + share;
            const long long place = static_cast<long long>(position) * texts + text;
#pragma unroll
            for (int gate = 0; gate < 4; ++gate)
                given[group][gate] = real && text < texts ? inputs[(place * 4 + gate) * HIDDEN + number] : 0.0f;
        }
#pragma unroll
        for (int group = 0; group < 2; ++group) {
            const int in_tile = half * 16 + group * 8, text = blockIdx.y * TEXTS + in_tile + share;
            float sums[4][8];
            multiply(sums, weights, now + in_tile * ROW + share * STRIDE, ROW);
            halve<4>(sums, 4);
            halve<2>(sums, 2);
            halve<1>(sums, 1);
            const float into = sigmoid(sums[0][0] + given[group][0]), keep = sigmoid(sums[1][0] + given[group][1]);
            const float fresh = tanhf(sums[2][0] + given[group][2]), out = sigmoid(sums[3][0] + given[group][3]);
            cell[group] = keep * cell[group] + into * fresh;
            const float state = real ? out * tanhf(cell[group]) : 0.0f;
            if (real && text < texts) {
                const long long place = static_cast<long long>(position) * texts + text;
                float* of_text = gates + place * 4 * HIDDEN + number;
                of_text[0] = into, of_text[HIDDEN] = keep, of_text[2 * HIDDEN] = fresh, of_text[3 * HIDDEN] = out;
                cells[place * HIDDEN + number] = cell[group];
                states[place * HIDDEN + number] = state;
            }
            // The four units of a warp, side by side; each of its quarters sends them to two blocks.
            float4 four;
            four.x = __shfl_sync(0xffffffffu, state, share);
            four.y = __shfl_sync(0xffffffffu, state, share + 8);
            four.z = __shfl_sync(0xffffffffu, state, share + 16);
            four.w = __shfl_sync(0xffffffffu, state, share + 24);
            const float* place = next + (in_tile + share) * ROW + block * STRIDE + unit / 4 * 4;
            send(place, lane / 8 * 2, four);
            send(place, lane / 8 * 2 + 1, four);
        }
        cluster_barrier();
    }
}

// A thread has, of one gate of this block's units, what it adds to the gradient of four states, for 16 of the texts. Before that it makes
// the gates' gradients of two (text, unit).
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(THREADS)
lstm_backward(const float* slopes, const float* recurrent, const float* gates, const float* cells, float* of_gates, int positions, int texts) {
    extern __shared__ float4 memory[];
    constexpr int ROW = 4 * STRIDE, BUFFER = BLOCKS * TEXTS * UNITS;
    float* own = reinterpret_cast<float*>(memory);  // [TEXTS][4][STRIDE]
    float* added = own + TEXTS * ROW;               // [2][BLOCKS][TEXTS][UNITS]
    const int block = blockIdx.x, half = threadIdx.x / (8 * UNITS), within = threadIdx.x % (8 * UNITS);
    const int four_units = within / 4 * 4, share = within % 4;
    const long long of_direction = static_cast<long long>(blockIdx.z) * positions * texts * HIDDEN;
    slopes += of_direction, cells += of_direction, gates += 4 * of_direction, of_gates += 4 * of_direction;
    recurrent += static_cast<long long>(blockIdx.z) * 4 * HIDDEN * HIDDEN;

    float weights[4][UNITS];
#pragma unroll
    for (int i = 0; i < UNITS; ++i)
#pragma unroll
        for (int to = 0; to < 4; ++to) {
            const int number = block * UNITS + i, state = four_units + to;
            weights[to][i] = number < HIDDEN && state < HIDDEN ? recurrent[(share * HIDDEN + number) * HIDDEN + state] : 0.0f;
        }
    for (int i = threadIdx.x; i < 2 * BUFFER; i += THREADS) added[i] = 0.0f;
    cluster_barrier();

    float of_cell[2] = {0.0f, 0.0f}, read[2][7];
    // Read one position ahead, while the block multiplies: the four gates, the cell, the one before it, and the slope.
    auto fetch = [&](int position) {
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const int element = threadIdx.x + which * THREADS, number = block * UNITS + element % UNITS;
            const int text = blockIdx.y * TEXTS + element / UNITS;
            if (position < 0 || number >= HIDDEN || text >= texts) continue;
            const long long place = static_cast<long long>(position) * texts + text;
#pragma unroll
            for (int gate = 0; gate < 4; ++gate) read[which][gate] = gates[(place * 4 + gate) * HIDDEN + number];
            read[which][4] = cells[place * HIDDEN + number];
            read[which][5] = position ? cells[(place - texts) * HIDDEN + number] : 0.0f;
            read[which][6] = slopes[place * HIDDEN + number];
        }
    };
    fetch(positions - 1);
    for (int position = positions - 1; position >= 0; --position) {
        const float* now = added + (position % 2) * BUFFER;
        float* next = added + ((position + 1) % 2) * BUFFER;
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const int element = threadIdx.x + which * THREADS, in_tile = element / UNITS, unit = element % UNITS;
            const int number = block * UNITS + unit, text = blockIdx.y * TEXTS + in_tile;
            float of_into = 0.0f, of_keep = 0.0f, of_fresh = 0.0f, of_out = 0.0f;
            if (number < HIDDEN && text < texts) {
                const float into = read[which][0], keep = read[which][1], fresh = read[which][2], out = read[which][3];
                float slope = read[which][6];
#pragma unroll
                for (int from = 0; from < BLOCKS; ++from) slope += now[(from * TEXTS + in_tile) * UNITS + unit];
                const float seen = tanhf(read[which][4]);
                const float at_cell = of_cell[which] + slope * out * (1.0f - seen * seen);
                of_cell[which] = at_cell * keep;
                of_into = at_cell * fresh * into * (1.0f - into);
                of_keep = at_cell * read[which][5] * keep * (1.0f - keep);
                of_fresh = at_cell * into * (1.0f - fresh * fresh);
                of_out = slope * seen * out * (1.0f - out);
                float* to = of_gates + (static_cast<long long>(position) * texts + text) * 4 * HIDDEN + number;
                to[0] = of_into, to[HIDDEN] = of_keep, to[2 * HIDDEN] = of_fresh, to[3 * HIDDEN] = of_out;
            }
            float* to = own + in_tile * ROW + unit;
            to[0] = of_into, to[STRIDE] = of_keep, to[2 * STRIDE] = of_fresh, to[3 * STRIDE] = of_out;
        }
        fetch(position - 1);
        __syncthreads();
#pragma unroll
        for (int group = 0; group < 2; ++group) {
            const int first = half * 16 + group * 8;
            float sums[4][8];
            multiply(sums, weights, own + first * ROW + share * STRIDE, ROW);
            halve<4>(sums, 2);
            halve<2>(sums, 1);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int in_tile = first + (share & 2) * 2 + (share & 1) * 2 + i;
                const float* place = next + (block * TEXTS + in_tile) * UNITS + four_units % UNITS;
                send(place, four_units / UNITS, make_float4(sums[0][i], sums[1][i], sums[2][i], sums[3][i]));
            }
        }
        cluster_barrier();
    }
}
