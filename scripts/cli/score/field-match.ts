import type { KnownFields } from '../../../shared/known-fields.js';

/** Which fields a model knows, and what of them a file has. */
export interface FieldReport {
  /** How many fields the model knows. */
  readonly known: number;
  /** Those that no name in the file matches, in the model's order. */
  readonly notInFile: readonly string[];
  /** Names in the file that match none, in the file's order; `mostUnknown` at most. */
  readonly unknown: readonly string[];
}

/** In JSONL, keys may be data: more of them are not kept. */
export const mostUnknown = 1_000;

/** Holds the names in a file against the fields of a model. */
export class FieldMatch {
  private readonly isFed: boolean[];
  private readonly matched = new Set<string>();
  private readonly unknown = new Set<string>();

  constructor(private readonly fields: KnownFields) {
    this.isFed = new Array<boolean>(fields.slotCount).fill(false);
  }

  /** Takes down a name under which values are sent. `crm_id` is no field: the service takes it out. */
  see(name: string): void {
    if (name === 'crm_id' || this.matched.has(name) || this.unknown.has(name)) return;
    const cells = this.fields.pack({ [name]: true });
    const fed = [...cells.keys()].filter((slot) => cells[slot] !== undefined);
    for (const slot of fed) this.isFed[slot] = true;
    if (fed.length > 0) this.matched.add(name);
    else if (this.unknown.size < mostUnknown) this.unknown.add(name);
  }

  /** What was found in all names seen so far. A field that two features read under other aliases is one. */
  report(): FieldReport {
    const { slotNames } = this.fields;
    return {
      known: new Set(slotNames).size,
      notInFile: [...new Set(slotNames.filter((_, slot) => this.isFed[slot] === false))],
      unknown: [...this.unknown],
    };
  }
}
