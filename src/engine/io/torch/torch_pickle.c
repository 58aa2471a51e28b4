/* The pickle machine: the opcodes of protocols 2 to 5 that torch.save writes. It makes plain values; what is not data
 * (names) goes to torch_names.c, which has a list. Containers grow only until they are part of another, as in every
 * pickle that Python writes of data without circles; so values form no circle and have a known depth. */
#include "io/torch/torch_pickle.h"

#include "io/torch/torch_names.h"
#include "io/torch/torch_parts.h"
#include "io/torch/torch_values.h"

#include <stdlib.h>
#include <string.h>

typedef struct machine {
    splat_torch_file *file;
    splat_torch_source *source;
    uint64_t begin, at;              /* of the pickle and of the opcode, in the file */
    splat_torch_node **stack;
    size_t *marks;                   /* heights of the stack */
    splat_torch_node **memo;
    size_t n_stack, stack_capacity, n_marks, mark_capacity, n_memo, memo_capacity;
} machine;

static splat_status bad(const machine *m, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, m->file->path, m->at, "the pickle is damaged: %s", what);
}

/* ---------------------------------------------------------------- stack */

/* The stack, the marks and the memo are bounded by the opcodes read so far, so by the bytes of the file. */
static splat_status make_room(const machine *m, void **items, size_t *capacity, size_t n, size_t item_size,
                              splat_error *error)
{
    if (n < *capacity) return SPLAT_OK;
    size_t wanted = n < 32 ? 64 : 2 * n;
    void *larger = realloc(*items, wanted * item_size);
    if (!larger)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, m->file->path, m->at, "no memory for the stack of a pickle");
    memset((uint8_t *)larger + *capacity * item_size, 0, (wanted - *capacity) * item_size);
    *items = larger;
    *capacity = wanted;
    return SPLAT_OK;
}

static splat_status push(machine *m, splat_torch_node *node, splat_error *error)
{
    void *stack = m->stack;
    splat_status status = make_room(m, &stack, &m->stack_capacity, m->n_stack, sizeof *m->stack, error);
    m->stack = stack;
    if (status == SPLAT_OK) m->stack[m->n_stack++] = node;
    return status;
}

static splat_status push_new(machine *m, splat_torch_kind kind, splat_torch_node **node, splat_error *error)
{
    SPLAT_TRY(splat_torch_node_make(m->file, kind, node, error));
    return push(m, *node, error);
}

static splat_status push_mark(machine *m, splat_error *error)
{
    void *marks = m->marks;
    splat_status status = make_room(m, &marks, &m->mark_capacity, m->n_marks, sizeof *m->marks, error);
    m->marks = marks;
    if (status == SPLAT_OK) m->marks[m->n_marks++] = m->n_stack;
    return status;
}

/* Nothing below the last mark may be taken. */
static splat_status need(const machine *m, size_t n, splat_error *error)
{
    size_t floor = m->n_marks ? m->marks[m->n_marks - 1] : 0;
    return m->n_stack - floor >= n ? SPLAT_OK : bad(m, "its stack is empty", error);
}

static splat_status pop_mark(machine *m, size_t *n_items, splat_error *error)
{
    if (!m->n_marks) return bad(m, "a mark is missing", error);
    *n_items = m->n_stack - m->marks[--m->n_marks];
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- numbers and text */

static splat_status read(machine *m, void *out, size_t size, splat_error *error)
{
    return splat_torch_source_read(m->source, out, size, error);
}

/* Little-endian two's complement of up to 8 bytes. */
static splat_status push_integer(machine *m, size_t size, bool is_signed, splat_error *error)
{
    splat_torch_node *node;
    uint64_t value = 0;
    if (size > 8)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, m->file->path, m->at,
                             "the pickle has an integer of more than 64 bits");
    SPLAT_TRY(read(m, &value, size, error));
    if (is_signed && size && size < 8 && value >> (8 * size - 1)) value |= UINT64_MAX << (8 * size);
    SPLAT_TRY(push_new(m, SPLAT_TORCH_INT, &node, error));
    memcpy(&node->value.integer, &value, sizeof value);
    return SPLAT_OK;
}

static splat_status push_long(machine *m, splat_error *error)
{
    uint8_t size;
    SPLAT_TRY(read(m, &size, 1, error));
    return push_integer(m, size, true, error);
}

static splat_status push_float(machine *m, splat_error *error)
{
    splat_torch_node *node;
    uint64_t bits;
    SPLAT_TRY(read(m, &bits, sizeof bits, error));
    SPLAT_TRY(push_new(m, SPLAT_TORCH_FLOAT, &node, error));
    bits = __builtin_bswap64(bits); /* the only big-endian number of a pickle */
    memcpy(&node->value.number, &bits, sizeof bits);
    return SPLAT_OK;
}

static splat_status push_bool(machine *m, bool value, splat_error *error)
{
    splat_torch_node *node;
    SPLAT_TRY(push_new(m, SPLAT_TORCH_BOOL, &node, error));
    node->value.boolean = value;
    return SPLAT_OK;
}

/* Length of length_size bytes, then the text. */
static splat_status push_text(machine *m, splat_torch_kind kind, size_t length_size, splat_error *error)
{
    splat_torch_node *node;
    uint64_t size = 0;
    SPLAT_TRY(read(m, &size, length_size, error));
    if (size > m->source->end - m->source->position) return bad(m, "a text is longer than the file", error);
    char *text = splat_torch_allocate(m->file, (size_t)size + 1, error);
    if (!text) return SPLAT_ERROR_MEMORY;
    SPLAT_TRY(read(m, text, (size_t)size, error));
    SPLAT_TRY(push_new(m, kind, &node, error));
    node->value.text = text;
    node->value.n = (size_t)size;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- containers */

static splat_status append(machine *m, splat_torch_node *list, splat_torch_node *item, splat_error *error)
{
    splat_torch_value *value = &list->value;
    SPLAT_TRY(splat_torch_adopt(m->file, list, item, m->at, error));
    void *items = splat_torch_grow(m->file, value->items, &list->capacity, value->n, sizeof *value->items, error);
    if (!items) return SPLAT_ERROR_MEMORY;
    value->items = items;
    value->items[value->n++] = &item->value;
    return SPLAT_OK;
}

/* The last n of the stack become items of the list or dict below them. */
static splat_status store(machine *m, splat_torch_kind kind, size_t n, splat_error *error)
{
    SPLAT_TRY(need(m, n + 1, error));
    splat_torch_node **parts = m->stack + (m->n_stack - n), *whole = parts[-1];
    if (whole->value.kind != kind)
        return bad(m, kind == SPLAT_TORCH_LIST ? "items for what is no list" : "items for what is no dict", error);
    if (kind == SPLAT_TORCH_DICT && n % 2) return bad(m, "a key of a dict has no value", error);
    for (size_t i = 0; kind == SPLAT_TORCH_LIST && i < n; i++) SPLAT_TRY(append(m, whole, parts[i], error));
    for (size_t i = 0; kind == SPLAT_TORCH_DICT && i < n; i += 2)
        SPLAT_TRY(splat_torch_dict_set(m->file, whole, parts[i], parts[i + 1], m->at, error));
    m->n_stack -= n;
    return SPLAT_OK;
}

static splat_status store_marked(machine *m, splat_torch_kind kind, splat_error *error)
{
    size_t n = 0;
    SPLAT_TRY(pop_mark(m, &n, error));
    return store(m, kind, n, error);
}

/* The last n of the stack become a new tuple, list or dict. */
static splat_status collect(machine *m, splat_torch_kind kind, size_t n, splat_error *error)
{
    splat_torch_node *whole;
    SPLAT_TRY(need(m, n, error));
    SPLAT_TRY(splat_torch_node_make(m->file, kind, &whole, error));
    splat_torch_node **parts = n ? m->stack + (m->n_stack - n) : NULL; /* nothing was pushed yet: there is no stack */
    if (kind == SPLAT_TORCH_DICT && n % 2) return bad(m, "a key of a dict has no value", error);
    for (size_t i = 0; kind != SPLAT_TORCH_DICT && i < n; i++) SPLAT_TRY(append(m, whole, parts[i], error));
    for (size_t i = 0; kind == SPLAT_TORCH_DICT && i < n; i += 2)
        SPLAT_TRY(splat_torch_dict_set(m->file, whole, parts[i], parts[i + 1], m->at, error));
    m->n_stack -= n;
    return push(m, whole, error);
}

static splat_status collect_marked(machine *m, splat_torch_kind kind, splat_error *error)
{
    size_t n = 0;
    SPLAT_TRY(pop_mark(m, &n, error));
    return collect(m, kind, n, error);
}

/* ---------------------------------------------------------------- memo */

static splat_status memo_put(machine *m, uint64_t index, splat_error *error)
{
    SPLAT_TRY(need(m, 1, error));
    /* every put before this one took a byte at least, and Python counts from 0 or 1 */
    if (index > m->at - m->begin) return bad(m, "a memo number is too large", error);
    void *memo = m->memo;
    splat_status status = make_room(m, &memo, &m->memo_capacity, (size_t)index, sizeof *m->memo, error);
    m->memo = memo;
    if (status != SPLAT_OK) return status;
    m->memo[index] = m->stack[m->n_stack - 1];
    if (index >= m->n_memo) m->n_memo = (size_t)index + 1;
    return SPLAT_OK;
}

static splat_status memo_opcode(machine *m, bool is_put, size_t size, splat_error *error)
{
    uint32_t index = 0;
    SPLAT_TRY(read(m, &index, size, error));
    if (is_put) return memo_put(m, index, error);
    if (index >= m->n_memo || !m->memo[index]) return bad(m, "a memo is used before it is set", error);
    return push(m, m->memo[index], error);
}

/* ---------------------------------------------------------------- names and calls */

static splat_status read_line(machine *m, char line[256], size_t *size, splat_error *error)
{
    for (*size = 0; *size < 256; (*size)++) {
        SPLAT_TRY(read(m, line + *size, 1, error));
        if (line[*size] == '\n') return SPLAT_OK;
    }
    return bad(m, "a name has more than 255 bytes", error);
}

static splat_status push_global(machine *m, splat_error *error)
{
    char module[256], name[256];
    size_t module_size, name_size;
    splat_torch_node *node;
    SPLAT_TRY(read_line(m, module, &module_size, error));
    SPLAT_TRY(read_line(m, name, &name_size, error));
    SPLAT_TRY(splat_torch_name_find(m->file, module, module_size, name, name_size, m->at, &node, error));
    return push(m, node, error);
}

static splat_status push_stack_global(machine *m, splat_error *error)
{
    splat_torch_node *node;
    SPLAT_TRY(need(m, 2, error));
    const splat_torch_value *module = &m->stack[m->n_stack - 2]->value, *name = &m->stack[m->n_stack - 1]->value;
    if (module->kind != SPLAT_TORCH_STRING || name->kind != SPLAT_TORCH_STRING)
        return bad(m, "a name is not a text", error);
    SPLAT_TRY(splat_torch_name_find(m->file, module->text, module->n, name->text, name->n, m->at, &node, error));
    m->n_stack -= 2;
    return push(m, node, error);
}

static splat_status call(machine *m, splat_error *error)
{
    splat_torch_node *result;
    SPLAT_TRY(need(m, 2, error));
    m->n_stack -= 2;
    SPLAT_TRY(splat_torch_call(m->file, m->stack[m->n_stack], m->stack[m->n_stack + 1], m->at, &result, error));
    return push(m, result, error);
}

static splat_status build(machine *m, splat_error *error)
{
    SPLAT_TRY(need(m, 2, error));
    m->n_stack--;
    return splat_torch_build(m->file, m->stack[m->n_stack - 1], m->stack[m->n_stack], m->at, error);
}

static splat_status persistent(machine *m, splat_error *error)
{
    splat_torch_node *result;
    SPLAT_TRY(need(m, 1, error));
    SPLAT_TRY(splat_torch_persistent(m->file, m->stack[--m->n_stack], m->at, &result, error));
    return push(m, result, error);
}

/* ---------------------------------------------------------------- the machine */

static splat_status drop(machine *m, size_t n, splat_error *error)
{
    SPLAT_TRY(need(m, n, error));
    m->n_stack -= n;
    return SPLAT_OK;
}

static splat_status drop_marked(machine *m, splat_error *error)
{
    size_t n = 0;
    SPLAT_TRY(pop_mark(m, &n, error));
    return drop(m, n, error);
}

static splat_status read_version(machine *m, splat_error *error)
{
    uint8_t version;
    SPLAT_TRY(read(m, &version, 1, error));
    return version >= 2 && version <= 5 ? SPLAT_OK : bad(m, "its protocol is not 2 to 5", error);
}

static splat_status run_opcode(machine *m, uint8_t opcode, splat_error *error)
{
    splat_torch_node *node;
    uint64_t frame;
    switch (opcode) {
    case 0x80: return read_version(m, error);                            /* PROTO */
    case 0x95: return read(m, &frame, sizeof frame, error);              /* FRAME: a hint for buffers */
    case '(': return push_mark(m, error);
    case '0': return drop(m, 1, error);
    case '1': return drop_marked(m, error);
    case '2': SPLAT_TRY(need(m, 1, error)); return push(m, m->stack[m->n_stack - 1], error);
    case 'N': return push_new(m, SPLAT_TORCH_NONE, &node, error);
    case 0x88: return push_bool(m, true, error);
    case 0x89: return push_bool(m, false, error);
    case 'J': return push_integer(m, 4, true, error);
    case 'K': return push_integer(m, 1, false, error);
    case 'M': return push_integer(m, 2, false, error);
    case 0x8a: return push_long(m, error);
    case 'G': return push_float(m, error);
    case 'T': return push_text(m, SPLAT_TORCH_STRING, 4, error);         /* Python 2 */
    case 'U': return push_text(m, SPLAT_TORCH_STRING, 1, error);
    case 0x8c: return push_text(m, SPLAT_TORCH_STRING, 1, error);
    case 'X': return push_text(m, SPLAT_TORCH_STRING, 4, error);
    case 0x8d: return push_text(m, SPLAT_TORCH_STRING, 8, error);
    case 'C': return push_text(m, SPLAT_TORCH_BYTES, 1, error);
    case 'B': return push_text(m, SPLAT_TORCH_BYTES, 4, error);
    case 0x8e: return push_text(m, SPLAT_TORCH_BYTES, 8, error);
    case ']': return push_new(m, SPLAT_TORCH_LIST, &node, error);
    case ')': return push_new(m, SPLAT_TORCH_TUPLE, &node, error);
    case '}': return push_new(m, SPLAT_TORCH_DICT, &node, error);
    case 'a': return store(m, SPLAT_TORCH_LIST, 1, error);
    case 'e': return store_marked(m, SPLAT_TORCH_LIST, error);
    case 's': return store(m, SPLAT_TORCH_DICT, 2, error);
    case 'u': return store_marked(m, SPLAT_TORCH_DICT, error);
    case 'l': return collect_marked(m, SPLAT_TORCH_LIST, error);
    case 't': return collect_marked(m, SPLAT_TORCH_TUPLE, error);
    case 'd': return collect_marked(m, SPLAT_TORCH_DICT, error);
    case 0x85: return collect(m, SPLAT_TORCH_TUPLE, 1, error);
    case 0x86: return collect(m, SPLAT_TORCH_TUPLE, 2, error);
    case 0x87: return collect(m, SPLAT_TORCH_TUPLE, 3, error);
    case 'q': return memo_opcode(m, true, 1, error);
    case 'r': return memo_opcode(m, true, 4, error);
    case 'h': return memo_opcode(m, false, 1, error);
    case 'j': return memo_opcode(m, false, 4, error);
    case 0x94: return memo_put(m, m->n_memo, error);                     /* MEMOIZE */
    case 'c': return push_global(m, error);
    case 0x93: return push_stack_global(m, error);
    case 'R': return call(m, error);
    case 0x81: return call(m, error);                                    /* NEWOBJ: the same for what is on the list */
    case 'b': return build(m, error);
    case 'Q': return persistent(m, error);
    default:
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, m->file->path, m->at,
                             "the pickle uses opcode 0x%02x, which torch.save does not write for plain data", opcode);
    }
}

static splat_status run(machine *m, const splat_torch_value **root, splat_error *error)
{
    for (;;) {
        uint8_t opcode;
        m->at = m->source->position;
        SPLAT_TRY(read(m, &opcode, 1, error));
        if (m->at == m->begin && opcode != 0x80) return bad(m, "it does not begin with its protocol", error);
        if (opcode == '.') break;
        SPLAT_TRY(run_opcode(m, opcode, error));
    }
    if (m->n_stack != 1 || m->n_marks) return bad(m, "it does not end with one value", error);
    *root = &m->stack[0]->value;
    return SPLAT_OK;
}

splat_status splat_torch_pickle_read(splat_torch_file *file, splat_torch_source *source,
                                     const splat_torch_value **root, splat_error *error)
{
    machine m = {.file = file, .source = source, .begin = source->position};
    splat_status status = run(&m, root, error);
    free(m.stack);
    free(m.marks);
    free(m.memo);
    return status;
}
