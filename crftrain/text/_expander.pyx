# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A template over sentences, each text once.

    line -> cells -> their numbers -> the numbers that a template line sees are a key -> the key's record

1) A cell is looked up once, whatever the lines that see it     (_texts)
2) Template lines that see the same cells relative to each other share a group: %x[-1,0]/%x[0,0] and %x[0,0]/%x[1,0] both see two words
   side by side. The key of a place is made of the numbers there, so each group costs one look a place.
   Lines of one cell see all its functions; lines of several go by the functions' results, which are fewer.
3) What a record holds is up to whoever expands: the numbers of its lines' attributes (_encode.pyx), or their weights
   (tagging/_plain.pyx). `make` is asked for one where a key is new, and may write the attributes' texts.

Tables start anew when they have grown large, so memory stays bounded on endless input. Nothing here needs Python, but functions.
"""

from cpython.bytes cimport PyBytes_AsString
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from ._strings cimport SLACK, Growing, crf_prefetch, put
from ._texts cimport Text, Texts

cdef enum:
    MOST_KEYS = 1 << 18
    MOST_PAYLOAD = 1 << 24          # beyond these bytes the tables start anew, too
    NEIGHBOURS = 64                 # lines of a group lie closer together


cdef class Expander(Texts):
    def __init__(self, template):
        super().__init__(template)
        self.pieces, self.parts, self.lines, self.literals = Growing(), Growing(), Growing(), []
        self.key, self.key_hash = Growing(), Growing()
        self.n_node_lines, self.n_pair_lines, self.most_keys = len(template.unigrams), len(template.bigrams), MOST_KEYS
        self.add_lines((*template.unigrams, *template.bigrams))
        self.forget()

    def __dealloc__(self):
        cdef Py_ssize_t g
        for g in range(self.n_groups if self.groups != NULL else 0):
            free(self.groups[g].slots)
            free(self.groups[g].keys)
            free(self.groups[g].direct)
            free(self.groups[g].payload)
            free(self.groups[g].record)
        free(self.groups)

    cdef int add_lines(self, lines) except -1:
        cdef Line new
        cdef Group* G
        groups = {}
        keys = [self.key_of(line) for line in lines]
        for key, offset in keys:
            groups.setdefault((key, (offset + NEIGHBOURS // 2) // NEIGHBOURS), []).append(offset)
        self.groups = <Group*> calloc(max(1, len(groups)), sizeof(Group))
        if self.groups == NULL:
            raise MemoryError("the groups of a template")
        self.n_groups = len(groups)
        numbers = {key: g for g, key in enumerate(groups)}
        for (key, bucket), offsets in groups.items():
            G = &self.groups[numbers[key, bucket]]
            G.first = self.parts.used // sizeof(Piece)
            for absolute, row, column, function in key:
                self.add_piece(self.parts, b"", row, column, function, absolute)
            G.end = self.parts.used // sizeof(Piece)
            G.nearest, G.furthest = min(offsets), max(offsets)
            G.plain = len(key) == 1 and not key[0][0]
        for line, (key, offset) in zip(lines, keys, strict=True):
            new.group = numbers[key, (offset + NEIGHBOURS // 2) // NEIGHBOURS]
            new.slot, new.offset = self.groups[new.group].n_lines, offset
            self.groups[new.group].n_lines += 1
            new.first = self.pieces.used // sizeof(Piece)
            for piece in line.pieces:
                if isinstance(piece, bytes):
                    self.add_piece(self.pieces, piece, 0, -1, -1, False)
                else:
                    column, function = self.place_of(piece)
                    self.add_piece(self.pieces, b"", piece.row, column, function, piece.absolute)
            new.end = self.pieces.used // sizeof(Piece)
            self.lines.push(&new, sizeof(new))
        return 0

    def place_of(self, macro):
        """(column, function) as numbers."""
        return self.columns.index(macro.column), -1 if macro.function is None else self.functions.index(macro.function)

    def key_of(self, line):
        """(key, offset): what a line sees, as (absolute, row, column, function), rows from that of the first cell; and which that is."""
        macros = [piece for piece in line.pieces if not isinstance(piece, bytes)]
        cells = {(macro.absolute, macro.row, self.place_of(macro)[0], -1) for macro in macros}
        if len(cells) > 1:
            cells = {(macro.absolute, macro.row, *self.place_of(macro)) for macro in macros}
        offset = min((row for absolute, row, _, _ in cells if not absolute), default=0)
        return tuple(sorted((a, row if a else row - offset, column, function) for a, row, column, function in cells)), offset

    cdef int add_piece(self, Growing to, bytes literal, int64_t row, int32_t column, int32_t function, bint absolute) except -1:
        cdef Piece new
        padded = literal + bytes(SLACK)
        self.literals.append(padded)
        new.text = Text(PyBytes_AsString(padded), len(literal))
        new.row, new.column, new.function, new.absolute = row, column, function, absolute
        to.push(&new, sizeof(new))
        return 0

    cdef int forget(self) except -1:
        """Start all tables anew; payloads keep their memory, most of which they will need again."""
        cdef Py_ssize_t g
        cdef Group* G
        Texts.forget(self)
        for g in range(self.n_groups):
            G = &self.groups[g]
            free(G.slots)
            free(G.keys)
            free(G.direct)
            G.slots, G.keys, G.direct = NULL, NULL, NULL
            G.mask = G.n_keys = G.n_direct = G.n_records = 0
        return 0

    # ---- a sentence ----------------------------------------------------------------------------------------------------------

    cdef int begin(self) except -1 nogil:
        """A new sentence."""
        cdef Py_ssize_t g
        cdef bint full = self.many_texts()
        for g in range(self.n_groups):
            full = full or self.groups[g].n_keys > self.most_keys or self.groups[g].n_records * self.groups[g].stride > MOST_PAYLOAD
        if full:
            with gil:
                self.forget()
        self.no_lines()
        return 0

    cdef int find(self) except -1 nogil:
        """The records of all groups at all places of the sentence."""
        cdef Py_ssize_t g
        self.intern()
        for g in range(self.n_groups):
            self.find_group(&self.groups[g])
        return 0

    cdef int find_group(self, Group* G) except -1 nogil:
        cdef int64_t i, m = G.end - G.first, n = self.T + G.furthest - G.nearest
        cdef const int32_t* key
        cdef const uint32_t* h
        self.room_for(G, n)
        self.make_keys(G, n)
        if self.find_known(G, n):
            return 0
        self.look_ahead(G, n)
        key, h = <int32_t*> self.key.data, <uint32_t*> self.key_hash.data
        for i in range(n):
            if G.record[i] >= 0:
                continue
            if G.plain and key[i] >= 0:
                if G.direct[key[i]] < 0:
                    G.direct[key[i]] = self.make(G, G.nearest + i)
                G.record[i] = G.direct[key[i]]
            else:
                G.record[i] = self.find_key(G, key + i * m, h[i], G.nearest + i)
        return 0

    cdef int room_for(self, Group* G, int64_t n) except -1 nogil:
        """Room for n places, and for as many new keys, so that slots stay where they are."""
        cdef int64_t more
        cdef int32_t* memory
        if n > G.record_room:
            memory = <int32_t*> realloc(G.record, (n + n // 4) * sizeof(int32_t))
            if memory == NULL:
                with gil:
                    raise MemoryError("the places of a sentence")
            G.record, G.record_room = memory, n + n // 4
        if G.plain and self.names.n > G.n_direct:
            more = max(1024, self.names.n + self.names.n // 2)
            memory = <int32_t*> realloc(G.direct, more * sizeof(int32_t))
            if memory == NULL:
                with gil:
                    raise MemoryError(f"{more} cells")
            memset(memory + G.n_direct, 255, (more - G.n_direct) * sizeof(int32_t))
            G.direct, G.n_direct = memory, more
        while not G.plain and 3 * (<uint64_t> G.n_keys + n) >= 2 * G.mask:
            self.grow(G)
        return 0

    cdef int make_keys(self, Group* G, int64_t n) except -1 nogil:
        """The keys of a group's n places, and their hashes, whose slots are asked for from memory."""
        cdef int64_t i, p, row, m = G.end - G.first
        cdef uint64_t h, FACTOR = 0x9E3779B97F4A7C15ULL
        cdef const Piece* part
        cdef int32_t* key
        cdef uint32_t* hashes
        cdef int32_t cell
        self.key.used = self.key_hash.used = 0
        self.key.reserve(n * m * sizeof(int32_t))
        self.key_hash.reserve(n * sizeof(uint32_t))
        key, hashes = <int32_t*> self.key.data, <uint32_t*> self.key_hash.data
        for p in range(m):
            part = <const Piece*> self.parts.data + G.first + p
            for i in range(n):
                row = part.row + (0 if part.absolute and part.row >= 0 else self.T if part.absolute else G.nearest + i)
                cell = self.cell_at(row, part.column)
                key[i * m + p] = cell if part.function < 0 or cell < 0 else self.apply(cell, part.function)
        if G.plain:
            for i in range(n):
                if key[i] < 0:
                    hashes[i] = <uint32_t> ((<uint64_t> <uint32_t> key[i] * FACTOR) >> 32)
            return 0
        for i in range(n):
            h = self.names.seed
            for p in range(m):
                h = (h ^ <uint32_t> key[i * m + p]) * FACTOR
                h ^= h >> 32
            hashes[i] = <uint32_t> h
            crf_prefetch(&G.slots[h & G.mask])
            crf_prefetch(&G.keys[(h & G.mask) * m])
        return 0

    cdef int32_t find_key(self, Group* G, const int32_t* key, uint32_t h, int64_t place) except -1 nogil:
        """The record of a key, a new one if it has none."""
        cdef int64_t p, m = G.end - G.first
        cdef uint64_t i
        cdef int32_t record
        if 3 * <uint64_t> (G.n_keys + 1) >= 2 * G.mask:
            self.grow(G)
        i = slot_of(G, key, h)
        if G.slots[i].record >= 0:
            return G.slots[i].record
        record = self.make(G, place)
        G.slots[i] = KeySlot(h, record)
        for p in range(m):
            G.keys[i * m + p] = key[p]
        G.n_keys += 1
        return record

    cdef bint find_known(self, Group* G, int64_t n) noexcept nogil:
        """The records of the n keys of make_keys, -1 where there is none yet; whether all have one. Records are asked for from memory."""
        cdef int64_t i, m = G.end - G.first
        cdef const int32_t* key = <const int32_t*> self.key.data
        cdef const uint32_t* h = <const uint32_t*> self.key_hash.data
        cdef int32_t record
        cdef bint all_known = True
        for i in range(n):
            if G.plain and key[i] >= 0:
                record = G.direct[key[i]]
            else:
                record = -1 if G.slots == NULL else G.slots[slot_of(G, key + i * m, h[i])].record
            G.record[i] = record
            if record < 0:
                all_known = False
            else:
                crf_prefetch(G.payload + record * G.stride)
        return all_known

    cdef int look_ahead(self, const Group* G, int64_t n) except -1 nogil:
        """Ask memory for what `make` will need for those of the n keys that have no record."""
        return 0

    cdef int grow(self, Group* G) except -1 nogil:
        """Twice the slots."""
        cdef int64_t p, m = G.end - G.first
        cdef uint64_t i, k, size = 2 * (G.mask + 1) if G.slots != NULL else 256
        cdef KeySlot* slots = <KeySlot*> malloc(size * sizeof(KeySlot))
        cdef int32_t* keys = <int32_t*> malloc(max(<uint64_t> 1, size * m) * sizeof(int32_t))
        if slots == NULL or keys == NULL:
            free(slots)
            free(keys)
            with gil:
                raise MemoryError(f"a table of {size} keys")
        memset(slots, 255, size * sizeof(KeySlot))
        for k in range(G.mask + 1 if G.slots != NULL else 0):
            if G.slots[k].record >= 0:
                i = G.slots[k].hash & (size - 1)
                while slots[i].record >= 0:
                    i = (i + 1) & (size - 1)
                slots[i] = G.slots[k]
                for p in range(m):
                    keys[i * m + p] = G.keys[k * m + p]
        free(G.slots)
        free(G.keys)
        G.slots, G.keys, G.mask = slots, keys, size - 1
        return 0

    cdef char* new_record(self, Group* G) except NULL nogil:
        """Room for another record, not yet filled in; its number is n_records - 1."""
        cdef int64_t room
        cdef char* memory
        if G.n_records >= G.room:
            room = max(64, G.room + G.room // 2)
            memory = <char*> realloc(G.payload, room * G.stride)
            if memory == NULL:
                with gil:
                    raise MemoryError(f"{room} records of a template")
            G.payload, G.room = memory, room
        G.n_records += 1
        return G.payload + (G.n_records - 1) * G.stride

    cdef int32_t make(self, Group* G, int64_t place) except -1 nogil:
        """The record of what a group's lines see at a place."""
        with gil:
            raise NotImplementedError("make")

    cdef int64_t write(self, const Line* line, int64_t t, Growing out, int64_t at) except -1 nogil:
        """Write what a line makes of token t from `at` on; where it ends."""
        cdef const Piece* piece
        cdef int64_t k, row
        cdef int32_t cell
        cdef Text text
        cdef char boundary[32 + SLACK]
        for k in range(line.first, line.end):
            piece = <const Piece*> self.pieces.data + k
            text = piece.text
            if piece.column >= 0:
                row = piece.row + (0 if piece.absolute and piece.row >= 0 else self.T if piece.absolute else t)
                cell = self.cell_at(row, piece.column)
                if cell >= 0:
                    if piece.function >= 0:
                        cell = self.apply(cell, piece.function)
                    text = Text(self.names.text + self.names.start[cell], self.names.start[cell + 1] - self.names.start[cell])
                else:
                    text.at = &boundary[0]
                    text.length = snprintf(boundary, 32, b"_B%+lld", <long long> (row if row < 0 else row - self.T + 1))
            if at + text.length + SLACK > out.room:
                out.used = at
                out.reserve(text.length)
            put(out.data + at, text.at, text.length)
            at += text.length
        return at


cdef inline uint64_t slot_of(const Group* G, const int32_t* key, uint32_t h) noexcept nogil:
    """Where a key is, or would be."""
    cdef uint64_t i = h & G.mask
    cdef int64_t p, m = G.end - G.first
    while G.slots[i].record >= 0:
        if G.slots[i].hash == h:
            p = 0
            while p < m and G.keys[i * m + p] == key[p]:
                p += 1
            if p == m:
                break
        i = (i + 1) & G.mask
    return i
