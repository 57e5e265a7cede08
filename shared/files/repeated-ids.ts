import { storedCrmId } from '../contract/crm-id.js';
import { countText } from '../contract/figures.js';
import { invisibleCharacters, shortenedText } from '../contract/texts.js';
import { IdSet } from './id-set.js';

/** A repeated id: rows with an id that an earlier row has, and one of them. */
export interface Repeats {
  readonly rows: number;
  readonly example: { readonly id: string; readonly line: number };
  /** False when some ids were no longer remembered: then there may be more. */
  readonly areAll: boolean;
}

/** Counts repeated ids in bounded memory, see `IdSet`. */
export class RepeatedIds {
  private readonly ids: IdSet;
  private rows = 0;
  private example: Repeats['example'] | undefined;
  private edged = { rows: 0, line: 0 };

  /** @param maxSlots see `IdSet` */
  constructor(maxSlots?: number) {
    this.ids = new IdSet(maxSlots);
  }

  /** The repeated ids so far; undefined without one. */
  get repeats(): Repeats | undefined {
    const { rows, example } = this;
    return example === undefined ? undefined : { rows, example, areAll: !this.ids.isFull };
  }

  /** The sentence about ids with white space at an end; undefined without one. */
  get edgesNotice(): string | undefined {
    const { rows, line } = this.edged;
    if (rows === 0) return undefined;
    const ids = rows === 1 ? '1 id begins or ends' : `${countText(rows)} ids begin or end`;
    return `${ids} with white space or an invisible character, first in line ${line}. Without it, each is the id of another lead`;
  }

  /** @returns whether an earlier row has the id, also in its other form: see `storedCrmId` */
  add(id: string, line: number): boolean {
    if (hasEdge(id)) {
      if (this.edged.rows === 0) this.edged.line = line;
      this.edged.rows += 1;
    }
    const isRepeated = this.ids.has(storedCrmId(id));
    if (!isRepeated) return false;
    this.rows += 1;
    this.example ??= { id, line };
    return true;
  }
}

const edges = new RegExp(`^[\\s${invisibleCharacters}]|[\\s${invisibleCharacters}]$`);

function hasEdge(id: string): boolean {
  const [first, last] = [id.charCodeAt(0), id.charCodeAt(id.length - 1)];
  // Nearly all ids begin and end with a letter or a digit.
  return (first <= 0x20 || first >= 0x7f || last <= 0x20 || last >= 0x7f) && edges.test(id);
}

const maxShown = 40; // characters

/**
 * The sentence about repeated ids; undefined without one.
 * @param quotesId false in a text that is stored: it must not outlive the erasure of the lead
 */
export function repeatsText(repeats: Repeats | undefined, { quotesId = true } = {}): string | undefined {
  if (repeats === undefined) return undefined;
  const { rows, example, areAll } = repeats;
  const shown = JSON.stringify(shortenedText(example.id, maxShown));
  const count = `${areAll ? '' : 'At least '}${countText(rows)} ${rows === 1 ? 'row has' : 'rows have'}`;
  const where = quotesId ? `such as ${shown} in` : 'first in';
  return `${count} a crm_id that an earlier row has, ${where} line ${example.line}`;
}
