/*
 * compile-seccomp: turns the texts in seccomp/ into bytes for the kernel, while building.
 *
 * Usage: compile-seccomp OUTPUT.h NAME.policy…
 *
 * Runs on the build machine only; nothing of it is in the product. The language is described in seccomp/README.md. For
 * each policy and each architecture it writes an array of `struct sock_filter` (NAME_ARCH[]), and, where the policy
 * names attacks, a second small filter (NAME_attacks_ARCH[]) that is loaded on top with logging on: the kernel logs for
 * a whole filter or not at all, and refusals that honest programs meet belong in no log.
 *
 * Numbers of system calls come from libseccomp, which knows both architectures on either; calls that are newer than the
 * distribution's libseccomp come from a table here, so that the result does not depend on the distribution. The code is
 * generated here rather than there, because libseccomp cannot say "one of this list, otherwise that error".
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile-seccomp-names.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define CODE_MAX 4096 /* BPF_MAXINSNS: the kernel takes no more */
#define RULES_MAX 1024
#define TESTS_MAX 12
#define VALUES_MAX 64
#define TOKENS_MAX 512
#define STATEMENT_MAX 8192

static const struct arch {
        const char *name;  /* suffix of the array */
        const char *macro; /* the compiler's, for the target */
        uint32_t audit;    /* seccomp_data.arch */
        uint32_t scmp;
        bool x32; /* has a second table, told apart by bit 30 of the number only */
} archs[] = {
        {"x86_64", "__x86_64__", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, true},
        {"aarch64", "__aarch64__", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, false},
};

#define X32_SYSCALL_BIT UINT32_C(0x40000000)
#define NO_SYSCALL UINT32_C(0xffffffff) /* what a tracer leaves to skip a call, and syscall(-1) */

/* One thing looked at: the low half of an argument, masked, is one of these. */
struct test {
        unsigned arg;
        uint32_t mask;
        uint32_t values[VALUES_MAX];
        size_t n_values;
        bool alternative; /* "or": those before it need not pass if those from here on do */
};

struct rule {
        char name[64];
        uint32_t result; /* SECCOMP_RET_… if every test of one alternative passes, or there is none */
        uint32_t otherwise;
        bool attack;
        struct test tests[TESTS_MAX];
        size_t n_tests;
};

struct policy {
        uint32_t otherwise; /* of calls that no rule names */
        bool has_default, attacks_unlogged;
        struct rule rules[RULES_MAX];
        size_t n_rules;
};

/* Where the statement being read stands, for errors. */
static const char *at_file = "compile-seccomp";
static unsigned at_line;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...) {
        va_list arguments;

        if (at_line)
                fprintf(stderr, "%s:%u: ", at_file, at_line);
        else
                fprintf(stderr, "%s: ", at_file);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        exit(1);
}

/* ---- Names ---- */

static uint32_t one_constant(const char *name) {
        char *end;
        unsigned long number;

        for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
                if (strcmp(constants[i].name, name) == 0)
                        return constants[i].value;
        errno = 0;
        number = strtoul(name, &end, 0);
        if (errno || *end || end == name || number > UINT32_MAX)
                die("\"%s\" is neither a number of 32 bits nor a constant of compile-seccomp-names.h", name);
        return (uint32_t)number;
}

/* "A|B|0x10" */
static uint32_t constant(const char *text) {
        char copy[STATEMENT_MAX], *save = NULL;
        uint32_t value = 0;

        snprintf(copy, sizeof copy, "%s", text);
        for (char *part = strtok_r(copy, "|", &save); part; part = strtok_r(NULL, "|", &save))
                value |= one_constant(part);
        return value;
}

static uint32_t error_result(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(error_names); i++)
                if (strcmp(error_names[i].name, name) == 0)
                        return SECCOMP_RET_ERRNO | error_names[i].value;
        die("\"%s\" is not an error of compile-seccomp-names.h", name);
}

/* Number of a call, or -1: not on this architecture. Never for a name that no architecture has: see check_name. */
static int64_t number_of(const char *name, const struct arch *arch) {
        int number;

        for (size_t i = 0; i < ARRAY_SIZE(recent_calls); i++)
                if (strcmp(recent_calls[i].name, name) == 0)
                        return recent_calls[i].value;
        number = seccomp_syscall_resolve_name_arch(arch->scmp, name);
        return number < 0 ? -1 : number;
}

static void check_name(const char *name) {
        if (strlen(name) >= sizeof((struct rule *)NULL)->name)
                die("\"%s\" is too long for a system call", name);
        for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
                if (number_of(name, &archs[i]) >= 0)
                        return;
        die("no architecture has a system call \"%s\"", name);
}

/* ---- Reading ---- */

struct statement {
        char *tokens[TOKENS_MAX];
        size_t n, next;
};

static const char *peek(const struct statement *s) {
        return s->next < s->n ? s->tokens[s->next] : NULL;
}

static bool is(const char *token, const char *word) {
        return token && strcmp(token, word) == 0;
}

static const char *take(struct statement *s, const char *what) {
        if (s->next >= s->n)
                die("the statement ends where %s should come", what);
        return s->tokens[s->next++];
}

static bool take_if(struct statement *s, const char *word) {
        if (!is(peek(s), word))
                return false;
        s->next++;
        return true;
}

static void add_value(struct test *test, struct statement *s) {
        uint32_t value = constant(take(s, "a value"));

        if (test->n_values == VALUES_MAX)
                die("more than %d values", VALUES_MAX);
        if (value & ~test->mask)
                die("arg%u can never have this value under this mask", test->arg);
        test->values[test->n_values++] = value;
}

/* argN == V | argN in V… | argN & M == V | argN & M in V… */
static struct test read_test(struct statement *s) {
        struct test test = {.mask = UINT32_MAX};
        const char *arg = take(s, "an argument (arg0 to arg5)");

        if (strncmp(arg, "arg", 3) != 0 || arg[3] < '0' || arg[3] > '5' || arg[4])
                die("\"%s\" is not an argument (arg0 to arg5)", arg);
        test.arg = (unsigned)(arg[3] - '0');
        if (take_if(s, "&"))
                test.mask = constant(take(s, "a mask"));
        if (take_if(s, "in")) {
                while (peek(s) && !is(peek(s), "else") && !is(peek(s), "and") && !is(peek(s), "or"))
                        add_value(&test, s);
                if (test.n_values == 0)
                        die("\"in\" without values");
        } else if (take_if(s, "=="))
                add_value(&test, s);
        else
                die("expected ==, in or & after %s", arg);
        return test;
}

static void read_condition(struct statement *s, struct rule *rule) {
        bool alternative = false;

        do {
                if (rule->n_tests == TESTS_MAX)
                        die("more than %d tests", TESTS_MAX);
                rule->tests[rule->n_tests] = read_test(s);
                rule->tests[rule->n_tests++].alternative = alternative;
                alternative = is(peek(s), "or");
        } while (take_if(s, "and") || take_if(s, "or"));
        if (!take_if(s, "else"))
                die("a test needs \"else ERRNO\"");
        rule->otherwise = error_result(take(s, "an error"));
}

static void add_rule(struct policy *policy, const struct rule *rule, bool override) {
        struct rule *place = NULL;

        check_name(rule->name);
        for (size_t i = 0; i < policy->n_rules; i++)
                if (strcmp(policy->rules[i].name, rule->name) == 0)
                        place = &policy->rules[i];
        if (place && !override)
                die("%s is named twice", rule->name);
        if (!place && override)
                die("there is nothing to override about %s", rule->name);
        if (!place) {
                if (policy->n_rules == RULES_MAX)
                        die("more than %d rules", RULES_MAX);
                place = &policy->rules[policy->n_rules++];
        }
        *place = *rule;
}

static void read_rules(struct policy *policy, struct statement *s, const char *verb, bool override) {
        struct rule rule = {.result = SECCOMP_RET_ALLOW};
        size_t first, last;

        if (is(verb, "deny"))
                rule.result = error_result(take(s, "an error"));
        else if (is(verb, "attack")) {
                rule.result = SECCOMP_RET_ERRNO | EPERM;
                rule.attack = true;
        } else if (!is(verb, "allow"))
                die("unknown statement \"%s\"", verb);
        first = s->next;
        while (peek(s) && !is(peek(s), "if"))
                s->next++;
        last = s->next;
        if (first == last)
                die("%s what?", verb);
        if (take_if(s, "if")) {
                if (!is(verb, "allow"))
                        die("only \"allow\" can have a condition");
                read_condition(s, &rule);
        }
        for (size_t i = first; i < last; i++) {
                snprintf(rule.name, sizeof rule.name, "%s", s->tokens[i]);
                if (strlen(s->tokens[i]) >= sizeof rule.name)
                        die("\"%s\" is too long for a system call", s->tokens[i]);
                add_rule(policy, &rule, override);
        }
}

static void read_policy(struct policy *policy, const char *path);

static void read_include(struct policy *policy, const char *name) {
        const char *file = at_file, *slash = strrchr(file, '/');
        unsigned line = at_line;
        char path[4096];

        snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - file + 1) : 0, file, name);
        read_policy(policy, path);
        at_file = file;
        at_line = line;
}

static void read_statement(struct policy *policy, char *text) {
        struct statement s = {.n = 0};
        char *save = NULL;
        const char *verb;

        for (char *token = strtok_r(text, " \t\n", &save); token; token = strtok_r(NULL, " \t\n", &save)) {
                if (s.n == TOKENS_MAX)
                        die("more than %d words in a statement", TOKENS_MAX);
                s.tokens[s.n++] = token;
        }
        if (s.n == 0)
                return;
        verb = take(&s, "a statement");
        if (is(verb, "default")) {
                if (policy->has_default)
                        die("a second default");
                policy->has_default = true;
                policy->otherwise = error_result(take(&s, "an error"));
        } else if (is(verb, "include")) {
                read_include(policy, take(&s, "a file"));
        } else if (is(verb, "attacks")) {
                if (!take_if(&s, "unlogged"))
                        die("attacks what?");
                policy->attacks_unlogged = true;
        } else if (is(verb, "override")) {
                verb = take(&s, "a statement");
                read_rules(policy, &s, verb, true);
        } else {
                read_rules(policy, &s, verb, false);
        }
        if (peek(&s))
                die("\"%s\" was not expected here", peek(&s));
}

static void read_policy(struct policy *policy, const char *path) {
        char line[STATEMENT_MAX], statement[STATEMENT_MAX] = "";
        unsigned number = 0;
        FILE *file = fopen(path, "r");

        if (!file) {
                at_line = 0;
                die("%s: %s", path, strerror(errno));
        }
        at_file = path;
        while (fgets(line, sizeof line, file)) {
                char *comment = strchr(line, '#');

                number++;
                if (!strchr(line, '\n') && !feof(file))
                        die("a line of more than %d bytes", STATEMENT_MAX);
                if (comment)
                        strcpy(comment, "\n");
                if (line[0] != ' ' && line[0] != '\t') { /* not the rest of the statement before */
                        read_statement(policy, statement);
                        statement[0] = '\0';
                        at_line = number;
                }
                if (strlen(statement) + strlen(line) >= sizeof statement)
                        die("a statement of more than %d bytes", STATEMENT_MAX);
                strcat(statement, line);
        }
        read_statement(policy, statement);
        fclose(file);
        at_line = 0;
}

/* ---- Generating ---- */

struct code {
        struct sock_filter items[CODE_MAX];
        size_t n;
};

static void emit(struct code *code, uint16_t operation, size_t jump_true, size_t jump_false, uint32_t operand) {
        if (code->n == CODE_MAX)
                die("the filter is longer than the kernel takes (%d)", CODE_MAX);
        if (jump_true > UINT8_MAX || jump_false > UINT8_MAX)
                die("a jump is too far");
        code->items[code->n++] = (struct sock_filter){operation, (uint8_t)jump_true, (uint8_t)jump_false, operand};
}

static void append(struct code *code, const struct code *other) {
        for (size_t i = 0; i < other->n; i++)
                emit(code, other->items[i].code, other->items[i].jt, other->items[i].jf, other->items[i].k);
}

static void load(struct code *code, size_t offset) {
        emit(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* Instructions of a test. */
static size_t test_size(const struct test *test) {
        return 1 + (test->mask != UINT32_MAX) + test->n_values;
}

/* Falls through to what follows if the test passes, else jumps over `distance` instructions behind it. */
static void emit_test(struct code *code, const struct test *test, size_t distance) {
        load(code, offsetof(struct seccomp_data, args) + 8 * test->arg); /* little-endian: the low half comes first */
        if (test->mask != UINT32_MAX)
                emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, test->mask);
        for (size_t i = 0; i < test->n_values; i++) {
                size_t left = test->n_values - i - 1;

                emit(code, BPF_JMP | BPF_JEQ | BPF_K, left, left ? 0 : distance, test->values[i]);
        }
}

/* Tests `first` to `end`, and the result if all of them pass; what follows is for when one does not. */
static void emit_alternative(struct code *code, const struct rule *rule, size_t first, size_t end) {
        size_t distance = 1; /* from behind the last test over the result */

        for (size_t i = first; i < end; i++)
                distance += test_size(&rule->tests[i]);
        for (size_t i = first; i < end; i++) {
                distance -= test_size(&rule->tests[i]);
                emit_test(code, &rule->tests[i], distance);
        }
        emit(code, BPF_RET | BPF_K, 0, 0, rule->result);
}

static void emit_rule(struct code *code, const struct rule *rule) {
        size_t first = 0;

        for (size_t i = 1; i < rule->n_tests; i++)
                if (rule->tests[i].alternative) {
                        emit_alternative(code, rule, first, i);
                        first = i;
                }
        emit_alternative(code, rule, first, rule->n_tests);
        if (rule->n_tests > 0)
                emit(code, BPF_RET | BPF_K, 0, 0, rule->otherwise);
}

/* What holds from this number on, up to where the next one starts. */
struct range {
        uint32_t start;
        struct rule rule;
};

/*
 * A balanced tree of comparisons. Jumps of conditions reach 255 instructions only; longer ones take an unconditional
 * jump beside.
 */
static void emit_tree(struct code *code, const struct range *ranges, size_t n) {
        struct code *left;

        if (n == 1) {
                emit_rule(code, &ranges[0].rule);
                return;
        }
        left = calloc(1, sizeof *left);
        if (!left)
                die("out of memory");
        emit_tree(left, ranges, n / 2);
        if (left->n <= UINT8_MAX) {
                emit(code, BPF_JMP | BPF_JGE | BPF_K, left->n, 0, ranges[n / 2].start);
        } else {
                emit(code, BPF_JMP | BPF_JGE | BPF_K, 0, 1, ranges[n / 2].start);
                emit(code, BPF_JMP | BPF_JA, 0, 0, (uint32_t)left->n);
        }
        append(code, left);
        free(left);
        emit_tree(code, ranges + n / 2, n - n / 2);
}

static bool same(const struct rule *a, const struct rule *b) {
        return a->n_tests == 0 && b->n_tests == 0 && a->result == b->result;
}

/* Sorted, without gaps, neighbours that say the same merged. */
static size_t make_ranges(const struct policy *policy, const struct arch *arch, struct range *ranges) {
        const struct rule otherwise = {.result = policy->otherwise};
        const struct rule *by_number[1024] = {NULL};
        size_t n = 0;

        for (size_t i = 0; i < policy->n_rules; i++) {
                int64_t number = number_of(policy->rules[i].name, arch);

                if (number >= (int64_t)ARRAY_SIZE(by_number))
                        die("%s has the number %" PRId64 ", which is odd", policy->rules[i].name, number);
                if (number >= 0)
                        by_number[number] = &policy->rules[i];
        }
        for (uint32_t number = 0; number < ARRAY_SIZE(by_number); number++) {
                const struct rule *rule = by_number[number] ? by_number[number] : &otherwise;

                if (n > 0 && same(&ranges[n - 1].rule, rule))
                        continue;
                ranges[n++] = (struct range){number, *rule};
        }
        return n;
}

static void compile(const struct policy *policy, const struct arch *arch, struct code *code) {
        static struct range ranges[1024];
        size_t n = make_ranges(policy, arch, ranges);

        load(code, offsetof(struct seccomp_data, arch));
        emit(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch->audit);
        emit(code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
        load(code, offsetof(struct seccomp_data, nr));
        if (arch->x32) {
                emit(code, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, NO_SYSCALL);
                emit(code, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_SYSCALL_BIT);
                emit(code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
        }
        emit_tree(code, ranges, n);
}

/* ---- Writing ---- */

static void write_array(FILE *out, const char *name, const char *infix, const struct arch *arch,
                        const struct code *code) {
        fprintf(out, "static const struct sock_filter %s%s_%s[] = {\n", name, infix, arch->name);
        for (size_t i = 0; i < code->n; i++)
                fprintf(out, "        {0x%02x, %u, %u, 0x%08" PRIx32 "},\n", code->items[i].code, code->items[i].jt,
                        code->items[i].jf, (uint32_t)code->items[i].k);
        fprintf(out, "};\n\n");
}

/* The policy that is loaded on top: refuses the attacks, lets the rest pass to the one below. */
static void attacks_of(const struct policy *policy, struct policy *attacks) {
        attacks->otherwise = SECCOMP_RET_ALLOW;
        for (size_t i = 0; i < policy->n_rules; i++)
                if (policy->rules[i].attack)
                        attacks->rules[attacks->n_rules++] = policy->rules[i];
        /* The way by which it was loaded is closed behind it. */
        attacks->rules[attacks->n_rules++] = (struct rule){.name = "seccomp", .result = SECCOMP_RET_ERRNO | EPERM};
}

/* Lets the second filter be loaded on top of the first. */
static void open_for_second(struct policy *policy) {
        const struct rule rule = {
                .name = "seccomp",
                .result = SECCOMP_RET_ALLOW,
                .otherwise = SECCOMP_RET_ERRNO | EPERM,
                .tests = {{.arg = 0, .mask = UINT32_MAX, .values = {SECCOMP_SET_MODE_FILTER}, .n_values = 1}},
                .n_tests = 1,
        };

        for (size_t i = 0; i < policy->n_rules; i++)
                if (is(policy->rules[i].name, "seccomp")) {
                        if ((policy->rules[i].result & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ALLOW)
                                policy->rules[i] = rule;
                        return;
                }
        add_rule(policy, &rule, false);
}

static void write_policy(FILE *out, const char *name, struct policy *policy) {
        struct policy *attacks = calloc(1, sizeof *attacks);
        bool log = false;

        if (!attacks)
                die("out of memory");
        for (size_t i = 0; i < policy->n_rules; i++)
                log |= policy->rules[i].attack && !policy->attacks_unlogged;
        if (log) {
                attacks_of(policy, attacks);
                open_for_second(policy);
        }
        for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
                struct code *code = calloc(2, sizeof *code);

                if (!code)
                        die("out of memory");
                fprintf(out, "#if defined(%s) || defined(SECCOMP_ALL_ARCHITECTURES)\n", archs[i].macro);
                compile(policy, &archs[i], &code[0]);
                write_array(out, name, "", &archs[i], &code[0]);
                if (log) {
                        compile(attacks, &archs[i], &code[1]);
                        write_array(out, name, "_attacks", &archs[i], &code[1]);
                }
                fprintf(out, "#endif\n\n");
                free(code);
        }
        free(attacks);
}

/* "seccomp/snippet.policy" → "snippet" */
static void base_name(const char *path, char *ret, size_t size) {
        const char *slash = strrchr(path, '/');
        const char *start = slash ? slash + 1 : path;

        snprintf(ret, size, "%.*s", (int)strcspn(start, "."), start);
}

int main(int argc, char **argv) {
        FILE *out;

        if (argc < 3)
                die("usage: compile-seccomp OUTPUT.h NAME.policy…");
        out = fopen(argv[1], "w");
        if (!out)
                die("%s: %s", argv[1], strerror(errno));
        fprintf(out,
                "/* Made by compile-seccomp from the policies in seccomp/. Changes here are lost. */\n#pragma once\n\n"
                "#include <linux/filter.h>\n\n");
        for (int i = 2; i < argc; i++) {
                struct policy *policy = calloc(1, sizeof *policy);
                char name[64];

                if (!policy)
                        die("out of memory");
                read_policy(policy, argv[i]);
                at_file = argv[i];
                if (!policy->has_default)
                        die("no default");
                base_name(argv[i], name, sizeof name);
                write_policy(out, name, policy);
                free(policy);
        }
        if (fclose(out) != 0)
                die("%s: %s", argv[1], strerror(errno));
        return 0;
}
