import type { KnownFields } from '../../../shared/known-fields.js';
import { FieldMatch, type FieldReport } from './field-match.js';
import type { RecordFormat } from './input-file.js';
import { missingFields, unknownNames, withoutCrmId } from './noticed.js';

/** The names under which a file's values are sent: a CSV has them all in its header, in JSONL each record has its own. */
export class InputNames {
  private readonly match: FieldMatch | undefined;
  private hasCrmId = false;

  /** @param fields undefined when nobody could say what the model knows: then nothing is said of fields */
  constructor(
    private readonly format: RecordFormat,
    fields: KnownFields | undefined,
  ) {
    this.match = fields === undefined ? undefined : new FieldMatch(fields);
  }

  see(names: readonly string[]): void {
    this.hasCrmId ||= names.includes('crm_id');
    for (const name of names) this.match?.see(name);
  }

  /** What a person may want to stop for, once a header was seen: a sentence each. In JSONL one record says nothing. */
  notices(): string[] {
    if (this.format !== 'csv') return [];
    const fields = this.match?.report();
    return [
      fields && missingFields(fields),
      fields && unknownNames(fields, this.format),
      this.hasCrmId ? undefined : `Records have no crm_id. ${withoutCrmId(this.format)}`,
    ].filter((each) => each !== undefined);
  }

  /**
   * @param allRead whether the file was read to its end: of JSONL nothing is known before
   * @returns undefined when it is not known
   */
  report(allRead: boolean): FieldReport | undefined {
    return allRead || this.format === 'csv' ? this.match?.report() : undefined;
  }
}
