/** At most this many problems are named in one message; the rest are counted. */
const PROBLEMS_NAMED = 5;
/** Names in a file may be of any length; a message stays readable. */
const LONGEST_PROBLEM = 300;

/** Says why a bundle is refused: which member is at fault and what is wrong with it. */
export class BundleError extends Error {
  /** The file of the bundle that is at fault, for example `manifest.json`, or the name of the archive itself. */
  readonly member: string;
  /** Every problem found, one sentence part each, without the member's name. */
  readonly problems: readonly string[];
  /** The problems in one line: the first five and how many more there are. */
  readonly reason: string;

  /**
   * @param member file of the bundle that is at fault
   * @param problems one problem or several (at least one), each able to follow "`member`: "
   * @param options `cause`: the error underneath, where there is one
   */
  constructor(member: string, problems: string | readonly string[], options?: ErrorOptions) {
    const list = (typeof problems === 'string' ? [problems] : problems).map(printable);
    const reason = joinProblems(list);
    const name = printable(member);
    super(`${name}: ${reason}`, options);
    this.name = 'BundleError';
    this.member = name;
    this.problems = list;
    this.reason = reason;
  }
}

/**
 * Throws when there is a problem, so that a check can collect them first.
 * @param member file of the bundle that was checked
 * @param problems what was found, possibly nothing
 * @throws BundleError naming the member and the problems
 */
export function refuseIfAny(member: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new BundleError(member, problems);
}

function joinProblems(problems: readonly string[]): string {
  const named = problems.slice(0, PROBLEMS_NAMED).join('; ');
  const more = problems.length - PROBLEMS_NAMED;
  return more > 0 ? `${named}; and ${more} more` : named;
}

/** A bundle's author chooses the names that a message repeats: they must not steer a terminal or fill a log. */
function printable(text: string): string {
  const cut = text.length > LONGEST_PROBLEM ? `${text.slice(0, LONGEST_PROBLEM)}...` : text;
  return cut.replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd');
}
