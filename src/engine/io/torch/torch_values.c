/* Values: making nodes, putting them into lists and dicts, and looking them up. */
#include "io/torch/torch_values.h"

#include "io/torch/torch_parts.h"

#include <string.h>

splat_status splat_torch_node_make(splat_torch_file *file, splat_torch_kind kind, splat_torch_node **node,
                                   splat_error *error)
{
    if (++file->n_nodes > SPLAT_TORCH_MAX_NODES)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "the file holds more than %u values; save the tensors alone", SPLAT_TORCH_MAX_NODES);
    *node = splat_torch_allocate(file, sizeof **node, error);
    if (!*node) return SPLAT_ERROR_MEMORY;
    (*node)->value.kind = kind;
    return SPLAT_OK;
}

static bool is_container(const splat_torch_node *node)
{
    return node->value.kind == SPLAT_TORCH_LIST || node->value.kind == SPLAT_TORCH_TUPLE ||
           node->value.kind == SPLAT_TORCH_DICT;
}

splat_status splat_torch_adopt(const splat_torch_file *file, splat_torch_node *whole, splat_torch_node *part,
                               uint64_t at, splat_error *error)
{
    if (whole->is_part || whole == part)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at,
                             "a list or dict of the pickle contains itself, or changes after its use");
    if (!is_container(part)) return SPLAT_OK;
    part->is_part = true;
    if (part->height + 1 > whole->height) whole->height = part->height + 1;
    if (whole->height > SPLAT_TORCH_MAX_DEPTH)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at,
                             "the pickle nests lists and dicts deeper than %d", SPLAT_TORCH_MAX_DEPTH);
    return SPLAT_OK;
}

splat_status splat_torch_dict_set(splat_torch_file *file, splat_torch_node *dict, splat_torch_node *key,
                                  splat_torch_node *value, uint64_t at, splat_error *error)
{
    splat_torch_value *to = &dict->value;
    if (key->value.kind == SPLAT_TORCH_LIST || key->value.kind == SPLAT_TORCH_DICT)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at, "a key of a dict is a list or a dict");
    SPLAT_TRY(splat_torch_adopt(file, dict, key, at, error));
    SPLAT_TRY(splat_torch_adopt(file, dict, value, at, error));
    void *pairs = splat_torch_grow(file, to->pairs, &dict->capacity, to->n, sizeof *to->pairs, error);
    if (!pairs) return SPLAT_ERROR_MEMORY;
    to->pairs = pairs;
    to->pairs[to->n++] = (splat_torch_pair){&key->value, &value->value};
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- looking up */

bool splat_torch_text_is(const splat_torch_value *value, const char *text)
{
    return value && value->kind == SPLAT_TORCH_STRING && value->n == strlen(text) &&
           memcmp(value->text, text, value->n) == 0;
}

/* From the end: when a key was set twice, the later one counts. */
const splat_torch_value *splat_torch_get(const splat_torch_value *dict, const char *key)
{
    if (!dict || dict->kind != SPLAT_TORCH_DICT) return NULL;
    for (size_t i = dict->n; i-- > 0;)
        if (splat_torch_text_is(dict->pairs[i].key, key)) return dict->pairs[i].value;
    return NULL;
}

const splat_torch_value *splat_torch_get_integer(const splat_torch_value *dict, int64_t key)
{
    if (!dict || dict->kind != SPLAT_TORCH_DICT) return NULL;
    for (size_t i = dict->n; i-- > 0;) {
        const splat_torch_value *candidate = dict->pairs[i].key;
        if (candidate->kind == SPLAT_TORCH_INT && candidate->integer == key) return dict->pairs[i].value;
    }
    return NULL;
}

const splat_torch_value *splat_torch_item(const splat_torch_value *list, size_t index)
{
    bool has_items = list && (list->kind == SPLAT_TORCH_LIST || list->kind == SPLAT_TORCH_TUPLE);
    return has_items && index < list->n ? list->items[index] : NULL;
}

const splat_torch_tensor *splat_torch_tensor_of(const splat_torch_value *value)
{
    return value && value->kind == SPLAT_TORCH_TENSOR ? value->tensor : NULL;
}
