import { setImmediate as nextStep } from 'node:timers/promises';
import { countText } from '../../../shared/contract/figures.js';
import { FieldMatch } from '../../../shared/files/field-match.js';
import { nameNotices } from '../../../shared/files/notices/header-notices.js';
import { objectIn } from '../../../shared/files/other-format.js';
import { listedNames, shownName } from '../../../shared/files/reading/csv-columns.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { IdMember, idOfJson } from '../../../shared/files/reading/row-ids.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { idOption, refuseUnknown } from './read-header.js';

/** Records whose names are compared with the fields of the model. */
const maxRecords = 1_000;
/** Folding so many characters of names takes up to 10 ms, and some hundred. */
const [charactersPerStep, maxCharacters] = [16 * 1024, 256 * 1024];

/** Reads the records of a JSONL file, for the sentences about their names and ids. */
export class JsonSurvey {
  private readonly match: FieldMatch;
  private readonly member: IdMember;
  private readonly firstNames: string[] = [];
  private records = 0;
  /** Records whose names were compared. */
  private readRecords = 0;
  private characters = 0;
  private stepEnd = charactersPerStep;

  /** @param wanted the member with the crm_id, if the job names one */
  constructor(
    private readonly knownFields: KnownFields,
    private readonly wanted: string | undefined,
  ) {
    this.match = new FieldMatch(knownFields);
    this.member = new IdMember(wanted);
  }

  /** Reads the next record. @returns its crm_id */
  async see(text: string): Promise<string | null> {
    const record = objectIn(text);
    if (record === undefined) return null;
    this.records += 1;
    const found = this.member.in(record);
    const name = 'name' in found ? found.name : undefined;
    if (this.records <= maxRecords && this.characters <= maxCharacters) await this.seeNames(record, name);
    if (name === undefined) return null;
    const read = idOfJson(record[name], { text, name });
    return 'id' in read ? read.id : null;
  }

  /** @throws InputFault when the job names a member that no record has */
  refuseWithoutIds(): void {
    if (this.wanted === undefined || this.member.wasFound || this.records === 0) return;
    const has = `No record has the member ${shownName(this.wanted)} for the crm_id`;
    throw new InputFault(`${has}. Members of the first record: ${listedNames(this.firstNames)}`);
  }

  /** @throws InputFault for a member that the model does not know */
  refuseUnknown(): void {
    refuseUnknown(this.match.report(), { kind: 'key', fields: this.knownFields });
  }

  notices(): string[] {
    const { match, member, knownFields, records, readRecords } = this;
    if (records === 0) return [];
    const report = match.report();
    const place = records > readRecords ? `the first ${countText(readRecords)} records` : 'the file';
    const ids = { names: report.unknown, hasIds: member.wasFound, option: idOption };
    return nameNotices(report, { ...ids, kind: 'key', fields: knownFields, place });
  }

  /** @param idName the member with the crm_id */
  private async seeNames(record: object, idName: string | undefined): Promise<void> {
    this.readRecords = this.records;
    for (const each in record) {
      if (this.characters > maxCharacters) return;
      if (this.records === 1) this.firstNames.push(each);
      if (each === idName || this.match.has(each)) continue;
      this.match.add(each);
      this.characters += each.length;
      if (this.characters < this.stepEnd) continue;
      this.stepEnd = this.characters + charactersPerStep;
      await nextStep();
    }
  }
}
