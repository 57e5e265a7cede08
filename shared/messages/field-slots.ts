import { type DateOrder, expectedOf } from '../bundle/expected-values.js';
import type { Feature, Manifest } from '../bundle/manifest/manifest.js';
import { foldFieldName } from '../contract/texts.js';
import { type Cell, cutFilledList, cutList, cutTexts, cutValue, isAbsent, isLongText, packCell } from './cells.js';
import { noTargets, SentNames, type Target } from './sent-names.js';

/**
 * A model's fields as slots. Each distinct pair of a field and its aliases among the features has one, in the order of
 * first appearance. The recency guard's field follows when no feature reads it. Gateway and worker compile the same
 * slots from the same manifest, so a record travels as an array of cells.
 */
export interface KnownFields {
  /** The field of each slot. A name appears twice when two features give one field different aliases. */
  readonly slotNames: readonly string[];
  /** Further names of each slot's field. */
  readonly slotAliases: readonly (readonly string[])[];
  /** The value that the first feature of each slot expects, for messages. The recency guard's own slot has none. */
  readonly slotExpectations: readonly string[];
  /** The order in which the first date feature of each slot reads dates with slashes, if it reads them. */
  readonly slotDateOrders: readonly (DateOrder | undefined)[];
  readonly slotCount: number;
  /** Features read the slots below this one; only the recency guard reads the slot after them. */
  readonly scoredSlotCount: number;
  /** The slot of each feature of the manifest. */
  readonly slotOfFeature: readonly number[];
  readonly recencySlot: number | undefined;
  /**
   * The cells of a record, by slot. A slot takes the best matching key: equal to its field, else folding to it, else
   * folding to an alias; among equals the first. One key may feed several slots, but a key that equals a field feeds no
   * other field that folds to it. A text too long for every feature of the slot is cut, and stays too long.
   * @param record a parsed JSON object; own keys such as `__proto__` are ordinary
   * @param names of the call
   */
  pack(record: Readonly<Record<string, unknown>>, names?: SentNames): Cell[];
  /** The key from which `pack` takes each slot; undefined for a slot without a matching key. */
  keysOf(record: Readonly<Record<string, unknown>>, names?: SentNames): (string | undefined)[];
  /**
   * Makes a function that packs rows of texts under the names of columns, as `pack` does records. An empty text is not
   * sent.
   * @param columns the indexes of names in a row, each name once
   */
  packerOf(columns: readonly Column[], names?: SentNames): (texts: readonly string[]) => Cell[];
  /** An empty memory of the names of one call. */
  sentNames(): SentNames;
  /** The features that read the values under a name. */
  featuresOf(name: string): readonly Feature[];
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

/** A name, and its index in rows. */
interface Column {
  readonly name: string;
  readonly index: number;
}

/** Ranks of a match; the highest wins. */
const rankOf = { alias: 1, folded: 2, exact: 3, taken: 4 } as const;

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
  const slotExpectations: string[] = [];
  const slotDateOrders: (DateOrder | undefined)[] = [];
  for (const [index, feature] of manifest.features.entries()) {
    const slot = slotOfFeature[index] ?? 0;
    slotExpectations[slot] ??= expectedOf(feature);
    if (feature.type === 'date') slotDateOrders[slot] ??= feature.date_order;
  }
  const reading = { slotExpectations, slotDateOrders };
  const { features } = manifest;
  return new CompiledFields({ slots, ...reading, scoredSlotCount, slotOfFeature, recencySlot, listSlots, features });
}

class CompiledFields implements KnownFields {
  readonly slotNames: readonly string[];
  readonly slotAliases: readonly (readonly string[])[];
  readonly slotExpectations: readonly string[];
  readonly slotDateOrders: readonly (DateOrder | undefined)[];
  readonly slotCount: number;
  readonly scoredSlotCount: number;
  readonly slotOfFeature: readonly number[];
  readonly recencySlot: number | undefined;
  /** By field and alias, as the manifest writes them. They are matched without folding. */
  private readonly byName = new Map<string, readonly Target[]>();
  private readonly byFoldedName = new Map<string, Target[]>();
  /** Names of other models, under which records are stored. Their manifests bound the number of names. */
  private readonly storedNames = this.sentNames();
  /** Slots from which a feature reads several values. */
  private readonly listSlots: ReadonlySet<number>;
  private readonly features: readonly Feature[];
  /** The best rank so far for each slot of the current record. */
  private readonly ranks: Uint8Array;

  constructor(shape: {
    slots: readonly { field: string; aliases: readonly string[] }[];
    slotExpectations: readonly string[];
    slotDateOrders: readonly (DateOrder | undefined)[];
    scoredSlotCount: number;
    slotOfFeature: readonly number[];
    recencySlot: number | undefined;
    listSlots: ReadonlySet<number>;
    features: readonly Feature[];
  }) {
    this.slotNames = shape.slots.map((slot) => slot.field);
    this.slotAliases = shape.slots.map((slot) => slot.aliases);
    this.slotExpectations = shape.slotExpectations;
    this.slotDateOrders = shape.slotDateOrders;
    this.slotCount = shape.slots.length;
    this.scoredSlotCount = shape.scoredSlotCount;
    this.slotOfFeature = shape.slotOfFeature;
    this.recencySlot = shape.recencySlot;
    this.listSlots = shape.listSlots;
    this.features = shape.features;
    this.ranks = new Uint8Array(this.slotCount);
    for (const [slot, { field, aliases }] of shape.slots.entries()) {
      addTarget(this.byFoldedName, foldFieldName(field), { slot, rank: rankOf.folded });
      for (const alias of new Set(aliases.map(foldFieldName))) {
        if (alias !== foldFieldName(field)) addTarget(this.byFoldedName, alias, { slot, rank: rankOf.alias });
      }
    }
    for (const { field, aliases } of shape.slots) {
      for (const name of [field, ...aliases]) {
        const targets = this.byFoldedName.get(foldFieldName(name)) ?? noTargets;
        this.byName.set(name, this.exactly(name, targets));
      }
    }
  }

  /** The targets of a name as the manifest writes it. The name of one field is not folded to that of another. */
  private exactly(name: string, targets: readonly Target[]): readonly Target[] {
    const isOwn = ({ slot }: Target): boolean => this.slotNames[slot] === name;
    if (!targets.some(isOwn)) return targets;
    const isAlias = ({ slot, rank }: Target): boolean =>
      rank === rankOf.alias || this.slotAliases[slot]?.includes(name) === true;
    return targets.flatMap((target) => {
      if (isOwn(target)) return { ...target, rank: rankOf.exact };
      return isAlias(target) ? target : [];
    });
  }

  sentNames(): SentNames {
    return new SentNames(this.byName, this.byFoldedName);
  }

  featuresOf(name: string): readonly Feature[] {
    const slots = new Set(
      this.sentNames()
        .targetsOf(name)
        .map(({ slot }) => slot),
    );
    if (slots.size === 0) return [];
    return this.features.filter((_, feature) => slots.has(this.slotOfFeature[feature] ?? -1));
  }

  pack(record: Readonly<Record<string, unknown>>, names = this.sentNames()): Cell[] {
    return this.keysOf(record, names).map((key, slot) => {
      const cell = key === undefined ? undefined : packCell(record[key]);
      return isLongText(cell) ? this.cut(cell, slot, cutList) : cell;
    });
  }

  keysOf(record: Readonly<Record<string, unknown>>, names = this.sentNames()): (string | undefined)[] {
    const keys = new Array<string | undefined>(this.slotCount).fill(undefined);
    const { ranks } = this;
    ranks.fill(0);
    for (const key in record) {
      for (const { slot, rank } of names.targetsOf(key)) {
        if (rank <= (ranks[slot] ?? rankOf.taken)) continue;
        ranks[slot] = rank;
        keys[slot] = key;
      }
    }
    return keys;
  }

  packerOf(columns: readonly Column[], names = this.sentNames()): (texts: readonly string[]) => Cell[] {
    const targets = columns.flatMap(({ name, index }) => names.targetsOf(name).map((target) => ({ ...target, index })));
    targets.sort((one, other) => other.rank - one.rank);
    // From the worst to the best, which is written last.
    const writes = targets.map(({ slot, index }) => ({ slot, index })).reverse();
    return (texts) => {
      const cells = new Array<Cell>(this.slotCount).fill(undefined);
      for (let at = 0; at < writes.length; at += 1) {
        const { slot, index } = writes[at] as (typeof writes)[number];
        const text = texts[index];
        if (text !== undefined && text !== '') cells[slot] = isLongText(text) ? this.cut(text, slot, cutList) : text;
      }
      return cells;
    };
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
      for (const target of this.storedNames.targetsOf(name)) {
        if (target.rank <= (ranks[target.slot] ?? rankOf.taken)) continue;
        ranks[target.slot] = target.rank;
        cells[target.slot] = this.filled(cell, target.slot, cutFilledList);
        filled = true;
      }
    }
    return filled;
  }

  /** Cuts a stored cell: another model may have stored longer texts. */
  private filled(cell: Cell, slot: number, asList: (text: string) => string): Cell {
    if (isLongText(cell)) return this.cut(cell, slot, asList);
    return Array.isArray(cell) ? cutTexts(cell) : cell;
  }

  private cut(text: string, slot: number, asList: (text: string) => string): string {
    return this.listSlots.has(slot) ? asList(text) : cutValue(text);
  }
}

function addTarget(targets: Map<string, Target[]>, name: string, target: Target): void {
  const sharing = targets.get(name);
  if (sharing) sharing.push(target);
  else targets.set(name, [target]);
}
