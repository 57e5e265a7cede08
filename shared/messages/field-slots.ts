import type { Manifest } from '../bundle/manifest/manifest.js';
import { foldFieldName } from '../contract/texts.js';
import { type Cell, cutFilledList, cutList, cutTexts, cutValue, isAbsent, isLongText, packCell } from './cells.js';

/**
 * A model's fields as slots. Each distinct pair of a field and its aliases among the features has one, in the order of
 * first appearance. The recency guard's field follows when no feature reads it. Gateway and worker compile the same
 * slots from the same manifest, so a record travels as an array of cells.
 */
export interface KnownFields {
  /** The field of each slot. A name appears twice when two features give one field different aliases. */
  readonly slotNames: readonly string[];
  readonly slotCount: number;
  /** Features read the slots below this one; only the recency guard reads the slot after them. */
  readonly scoredSlotCount: number;
  /** The slot of each feature of the manifest. */
  readonly slotOfFeature: readonly number[];
  readonly recencySlot: number | undefined;
  /**
   * The cells of a record, by slot. A slot takes the best matching key: equal to its field, else folding to it, else
   * folding to an alias; among equals the first. One key may feed several slots. A text too long for every feature of
   * the slot is cut, and stays too long.
   * @param record a parsed JSON object; own keys such as `__proto__` are ordinary
   */
  pack(record: Readonly<Record<string, unknown>>): Cell[];
  /** The key from which `pack` would take a field; undefined when there is no such key. */
  keyOf(record: Readonly<Record<string, unknown>>, field: string): string | undefined;
  /**
   * Fills the slots that were not sent with the cells of an earlier prediction. A sent null stays.
   * @param options.cells of `pack`, changed in place
   * @returns whether a slot was filled
   */
  mergeStored(options: { readonly cells: Cell[]; readonly stored: StoredFields }): boolean;
}

/** The cells of an earlier prediction: `slots` of the same manifest, or `cells` under the `names` of another. */
export type StoredFields =
  | { readonly slots: readonly Cell[] }
  | { readonly names: readonly string[]; readonly cells: readonly Cell[] };

/** A slot that a key may feed, and the rank of the match. */
interface Target {
  readonly slot: number;
  readonly rank: number;
}

/** Ranks of a match; the highest wins. */
const rankOf = { alias: 1, folded: 2, exact: 3, taken: 4 } as const;

const noTargets: readonly Target[] = [];
/** The cache is emptied at this size: callers may send any number of names. */
const maxCachedKeys = 10_000;
const maxCachedKeyLength = 256;
/** A longer key only matches exactly. Field names have up to 255 characters; folding megabytes would delay other calls. */
const maxFoldedKeyLength = 512;

/** Compiles the slots of a checked manifest. */
export function compileKnownFields(manifest: Pick<Manifest, 'features' | 'recency'>): KnownFields {
  const slots: { field: string; aliases: readonly string[] }[] = [];
  const slotByPair = new Map<string, number>();
  const slotOf = (field: string, aliases: readonly string[]): number => {
    const pair = JSON.stringify([field, [...new Set(aliases)].sort()]);
    const known = slotByPair.get(pair);
    if (known !== undefined) return known;
    slotByPair.set(pair, slots.length);
    return slots.push({ field, aliases }) - 1;
  };
  const slotOfFeature = manifest.features.map((feature) => slotOf(feature.field, feature.aliases ?? []));
  const scoredSlotCount = slots.length;
  const recencySlotOf = (field: string): number => {
    const reads = manifest.features.map((feature) => feature.field === field);
    const ofDate = manifest.features.findIndex(({ type }, index) => reads[index] && type === 'date');
    return slotOfFeature[ofDate] ?? slotOfFeature[reads.indexOf(true)] ?? slotOf(field, []);
  };
  const recencySlot = manifest.recency && recencySlotOf(manifest.recency.field);
  const listSlots = new Set(slotOfFeature.filter((_, index) => manifest.features[index]?.type === 'multi'));
  return new CompiledFields({ slots, scoredSlotCount, slotOfFeature, recencySlot, listSlots });
}

class CompiledFields implements KnownFields {
  readonly slotNames: readonly string[];
  readonly slotCount: number;
  readonly scoredSlotCount: number;
  readonly slotOfFeature: readonly number[];
  readonly recencySlot: number | undefined;
  private readonly exact = new Map<string, number[]>();
  private readonly folded = new Map<string, number[]>();
  private readonly aliases = new Map<string, number[]>();
  private readonly targets = new Map<string, readonly Target[]>();
  private readonly noCells: readonly Cell[];
  /** Slots from which a feature reads several values. */
  private readonly listSlots: ReadonlySet<number>;
  /** The best rank so far for each slot of the current record. */
  private readonly ranks: Uint8Array;

  constructor(shape: {
    slots: readonly { field: string; aliases: readonly string[] }[];
    scoredSlotCount: number;
    slotOfFeature: readonly number[];
    recencySlot: number | undefined;
    listSlots: ReadonlySet<number>;
  }) {
    this.slotNames = shape.slots.map((slot) => slot.field);
    this.slotCount = shape.slots.length;
    this.scoredSlotCount = shape.scoredSlotCount;
    this.slotOfFeature = shape.slotOfFeature;
    this.recencySlot = shape.recencySlot;
    this.listSlots = shape.listSlots;
    this.noCells = new Array<Cell>(this.slotCount).fill(undefined);
    this.ranks = new Uint8Array(this.slotCount);
    for (const [slot, { field, aliases }] of shape.slots.entries()) {
      addSlot(this.exact, field, slot);
      addSlot(this.folded, foldFieldName(field), slot);
      for (const alias of new Set(aliases.map(foldFieldName))) addSlot(this.aliases, alias, slot);
    }
  }

  pack(record: Readonly<Record<string, unknown>>): Cell[] {
    const cells = this.noCells.slice();
    const ranks = this.ranks;
    ranks.fill(0);
    for (const key in record) {
      const targets = this.targets.get(key) ?? this.resolve(key);
      if (targets.length === 0) continue;
      const cell = packCell(record[key]);
      if (cell === undefined) continue;
      for (const target of targets) {
        if (target.rank <= (ranks[target.slot] ?? rankOf.taken)) continue;
        ranks[target.slot] = target.rank;
        cells[target.slot] = isLongText(cell) ? this.cut(cell, target.slot, cutList) : cell;
      }
    }
    return cells;
  }

  keyOf(record: Readonly<Record<string, unknown>>, field: string): string | undefined {
    let best: string | undefined;
    let bestRank = 0;
    for (const key in record) {
      for (const { slot, rank } of this.targets.get(key) ?? this.resolve(key)) {
        if (rank <= bestRank || this.slotNames[slot] !== field) continue;
        best = key;
        bestRank = rank;
      }
    }
    return best;
  }

  mergeStored({ cells, stored }: { readonly cells: Cell[]; readonly stored: StoredFields }): boolean {
    return 'slots' in stored ? this.fillSlots(cells, stored.slots) : this.fillNames(cells, stored);
  }

  private fillSlots(cells: Cell[], stored: readonly Cell[]): boolean {
    let filled = false;
    for (let slot = 0; slot < this.slotCount; slot += 1) {
      const cell = stored[slot];
      if (isAbsent(cell) || !isAbsent(cells[slot])) continue;
      cells[slot] = this.filled(cell, slot, cutList);
      filled = true;
    }
    return filled;
  }

  private fillNames(
    cells: Cell[],
    stored: { readonly names: readonly string[]; readonly cells: readonly Cell[] },
  ): boolean {
    const ranks = this.ranks;
    for (let slot = 0; slot < this.slotCount; slot += 1) ranks[slot] = isAbsent(cells[slot]) ? 0 : rankOf.taken;
    let filled = false;
    for (const [index, name] of stored.names.entries()) {
      const cell = stored.cells[index];
      if (isAbsent(cell)) continue;
      for (const target of this.targets.get(name) ?? this.resolve(name)) {
        if (target.rank <= (ranks[target.slot] ?? rankOf.taken)) continue;
        ranks[target.slot] = target.rank;
        cells[target.slot] = this.filled(cell, target.slot, cutFilledList);
        filled = true;
      }
    }
    return filled;
  }

  /** Cuts a stored cell: an earlier release or another model may have stored longer texts. */
  private filled(cell: Cell, slot: number, asList: (text: string) => string): Cell {
    if (isLongText(cell)) return this.cut(cell, slot, asList);
    return Array.isArray(cell) ? cutTexts(cell) : cell;
  }

  private cut(text: string, slot: number, asList: (text: string) => string): string {
    return this.listSlots.has(slot) ? asList(text) : cutValue(text);
  }

  private resolve(key: string): readonly Target[] {
    const folded = key.length <= maxFoldedKeyLength ? foldFieldName(key) : undefined;
    const best = new Map<number, number>();
    if (folded !== undefined) {
      for (const slot of this.aliases.get(folded) ?? []) best.set(slot, rankOf.alias);
      for (const slot of this.folded.get(folded) ?? []) best.set(slot, rankOf.folded);
    }
    for (const slot of this.exact.get(key) ?? []) best.set(slot, rankOf.exact);
    const targets = best.size === 0 ? noTargets : Array.from(best, ([slot, rank]) => ({ slot, rank }));
    if (key.length <= maxCachedKeyLength) {
      if (this.targets.size >= maxCachedKeys) this.targets.clear();
      this.targets.set(key, targets);
    }
    return targets;
  }
}

function addSlot(slots: Map<string, number[]>, name: string, slot: number): void {
  const sharing = slots.get(name);
  if (sharing) sharing.push(slot);
  else slots.set(name, [slot]);
}
