/* What a room has looked up; see names.h. */
#include "egress/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"

struct name {
        char text[DNS_TEXT_MAX + 1];
        struct address addresses[NAME_ADDRESSES_MAX];
        size_t address_count;
        struct address blocked; /* family 0: none */
        enum egress_rule rule_if_none;
        bool told;
        uint64_t opened_ms, used; /* the second: a counter */
};

struct names {
        names_tell_fn tell;
        void *data;
        struct name *items; /* NAMES_MAX of them, once there is one */
        size_t count;
        uint64_t uses;
};

struct names *names_new(names_tell_fn tell, void *data) {
        struct names *names = malloc(sizeof(*names));
        if (names)
                *names = (struct names){.tell = tell, .data = data};
        return names;
}

static void tell(struct names *names, const struct name *name) {
        struct egress_record record = {
                .decision = EGRESS_ALLOWED,
                .rule = EGRESS_RULE_PUBLIC,
                .port = 53,
                .opened_ms = name->opened_ms,
        };
        const struct address *address = name->address_count > 0 ? &name->addresses[0] : &name->blocked;
        if (name->told)
                return;
        if (name->address_count == 0) {
                record.rule = name->rule_if_none;
                record.decision =
                        name->blocked.family || record.rule != EGRESS_RULE_NAME ? EGRESS_REFUSED : EGRESS_FAILED;
        }
        record.family = address->family;
        memcpy(record.address, address->bytes, sizeof(record.address));
        names->tell(names->data, &record, name->text);
}

void names_end(struct names **names) {
        struct names *ending = TAKE_PTR(*names);
        if (!ending)
                return;
        for (size_t i = 0; i < ending->count; i++)
                tell(ending, &ending->items[i]);
        free(ending->items);
        free(ending);
}

size_t names_count(const struct names *names) {
        size_t count = 0;
        for (size_t i = 0; i < names->count; i++)
                count += !names->items[i].told;
        return count;
}

static struct name *find(struct names *names, const char *text) {
        for (size_t i = 0; i < names->count; i++)
                if (strcmp(names->items[i].text, text) == 0)
                        return &names->items[i];
        return NULL;
}

/* A place for a new one; NULL: out of memory. */
static struct name *make_place(struct names *names) {
        if (!names->items && !(names->items = calloc(NAMES_MAX, sizeof(*names->items))))
                return NULL;
        if (names->count < NAMES_MAX)
                return &names->items[names->count++];
        struct name *oldest = &names->items[0];
        for (size_t i = 1; i < NAMES_MAX; i++)
                if (names->items[i].used < oldest->used)
                        oldest = &names->items[i];
        tell(names, oldest);
        return oldest;
}

static bool has(const struct name *name, const struct address *address) {
        for (size_t i = 0; i < name->address_count; i++)
                if (address_same(&name->addresses[i], address))
                        return true;
        return false;
}

void names_add(struct names *names, const char *text, const struct dns_answer *usable, const struct address *blocked,
               enum egress_rule rule_if_none) {
        struct name *name = find(names, text);
        if (!name) {
                if (!(name = make_place(names)))
                        return;
                *name = (struct name){.opened_ms = (uint64_t)clock_wall_ms()};
                memcpy(name->text, text, strnlen(text, DNS_TEXT_MAX) + 1);
        }
        name->used = ++names->uses;
        name->rule_if_none = rule_if_none;
        if (blocked)
                name->blocked = *blocked;
        for (size_t i = 0; i < usable->count && name->address_count < NAME_ADDRESSES_MAX; i++)
                if (!has(name, &usable->addresses[i]))
                        name->addresses[name->address_count++] = usable->addresses[i];
}

const char *names_of(struct names *names, const struct address *address, const char *claimed) {
        struct name *found = NULL;
        for (size_t i = 0; i < names->count; i++) {
                struct name *name = &names->items[i];
                if (!has(name, address))
                        continue;
                if (strcmp(name->text, claimed) == 0) {
                        found = name;
                        break;
                }
                if (!found || name->used > found->used)
                        found = name;
        }
        if (!found)
                return claimed;
        found->told = true;
        return found->text;
}
