import { LRUCache } from 'lru-cache';
import { bitCount, editCost, marksOf } from '../../shared/messages/similar-fields.js';
import type { AdmittedModel, Notice, ScoringCall } from './scoring-call.js';

/** An envelope has few members. A flat webhook may have thousands, and only so many of them are compared. */
const maxNames = 100;
const comparableName = /^[\w .-]{3,20}$/;
/** Members with fewer letters differ by one edit, others by two. The costs are those of `editCost`. */
const lettersForTwo = 7;
const [costOfOne, costOfTwo] = [3, 6];
/** An edit changes at most two bits of `marksOf`. */
const maxBits = 4;

/** Tools send the same names in every call: comparing twenty of them takes some 50 µs. */
const maxRemembered = 2_000;

/** A name, its letters in lower case, and their marks. */
interface Member {
  readonly name: string;
  readonly letters: string;
  readonly marks: number;
}

/** The members of an envelope, to be found by misspelt names. */
export class EnvelopeMembers {
  private readonly members: readonly Member[];
  /** The nearest member by name; empty without one. */
  private readonly recent = new LRUCache<string, string>({ max: maxRemembered });

  constructor(names: Iterable<string>) {
    this.members = [...names].map(memberOf);
  }

  /**
   * Notices of members that are ignored and look like misspelt ones.
   * @param names of the envelope that was sent; only the first hundred are compared
   * @param isSent whether the call has a member
   */
  notices(names: readonly string[], isSent: (member: string) => boolean): Notice[] {
    const notices: Notice[] = [];
    for (const name of names.slice(0, maxNames)) {
      const near = this.nearest(name);
      if (near === '' || near === name || isSent(near)) continue;
      notices.push({ text: `"${name}" is unknown and was ignored: did you mean "${near}"?`, unlessField: name });
    }
    return notices;
  }

  private nearest(name: string): string {
    if (!comparableName.test(name)) return '';
    const known = this.recent.get(name);
    if (known !== undefined) return known;
    const near = nearestOf(name, this.members);
    this.recent.set(name, near);
    return near;
  }
}

function memberOf(name: string): Member {
  const letters = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return { name, letters, marks: marksOf(letters) };
}

/** Empty without a member that is like the name. */
function nearestOf(name: string, members: readonly Member[]): string {
  if (!comparableName.test(name)) return '';
  const own = memberOf(name);
  let [nearest, least] = ['', costOfTwo + 1];
  for (const { name: member, letters, marks } of members) {
    if (bitCount(own.marks ^ marks) > maxBits) continue;
    const cost = editCost(own.letters, letters);
    if (cost <= (letters.length < lettersForTwo ? costOfOne : costOfTwo) && cost < least)
      [nearest, least] = [member, cost];
  }
  return nearest;
}

/** The one of some names that a name is, or most likely means; undefined if none is like it. */
export const nearestName = (name: string, names: readonly string[]): string | undefined =>
  nearestOf(name, names.map(memberOf)) || undefined;

/** Tells how to correct the name under which a missing member was sent; empty if no name is like it. */
export function renameAdvice(member: string, names: readonly string[]): string {
  const members = [memberOf(member)];
  const name = names.slice(0, maxNames).find((each) => each !== member && nearestOf(each, members) !== '');
  return name === undefined ? '' : `rename "${name}" to "${member}"`;
}

/** The texts of a call's notices, without names that are fields of its model. */
export function noticesOf({ notices = [] }: Pick<ScoringCall, 'notices'>, model: AdmittedModel): readonly string[] {
  if (notices.length === 0) return [];
  const names = model.knownFields.sentNames();
  const isField = (name: string | undefined) => name !== undefined && names.targetsOf(name).length > 0;
  return notices.filter(({ unlessField }) => !isField(unlessField)).map(({ text }) => text);
}
