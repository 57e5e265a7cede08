import type { KnownFields } from '../messages/field-slots.js';
import type { SentNames } from '../messages/sent-names.js';

/** Comparison of a model's fields with the names in a file. */
export interface FieldReport {
  /** Number of fields that the model knows. */
  readonly known: number;
  /** Model fields that the file lacks, in the model's order. */
  readonly notInFile: readonly string[];
  /** Names that the model does not know, in the file's order; at most `maxUnknown`. */
  readonly unknown: readonly string[];
}

export const maxUnknown = 1_000; // bounds memory: JSONL keys may be data

/** Matches the names in a file with the fields of a model. */
export class FieldMatch {
  private readonly isFed: boolean[];
  private readonly matched = new Set<string>();
  private readonly unknown = new Set<string>();

  constructor(private readonly fields: KnownFields) {
    this.isFed = new Array<boolean>(fields.slotCount).fill(false);
  }

  /** Whether a field of the model is in the file. */
  get hasMatch(): boolean {
    return this.matched.size > 0;
  }

  /** Whether a name was added, and is in the report. */
  has(name: string): boolean {
    return this.matched.has(name) || this.unknown.has(name);
  }

  /**
   * Adds a name under which values are sent. Ignores `crm_id`, which is not a field.
   * @param names remembers the names of a whole file; absent for JSONL keys, which may be data
   */
  add(name: string, names?: SentNames): void {
    if (name === 'crm_id' || this.has(name)) return;
    const targets = (names ?? this.fields.sentNames()).targetsOf(name);
    for (const { slot } of targets) this.isFed[slot] = true;
    if (targets.length > 0) this.matched.add(name);
    else if (this.unknown.size < maxUnknown) this.unknown.add(name);
  }

  /** Report on all names so far. A field that two features read under different aliases counts once. */
  report(): FieldReport {
    const { slotNames } = this.fields;
    return {
      known: new Set(slotNames).size,
      notInFile: [...new Set(slotNames.filter((_, slot) => this.isFed[slot] === false))],
      unknown: [...this.unknown],
    };
  }
}
