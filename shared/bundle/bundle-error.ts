/** Problems named in one message; the rest are only counted. */
const maxNamedProblems = 5;
/** Names in a file may be of any length, and a message must stay readable. */
const maxProblemLength = 300;

/** A bundle is refused: names the member at fault and its problems. */
export class BundleError extends Error {
  /** File of the bundle, for example `manifest.json`, or the name of the archive itself. */
  readonly member: string;
  /** Every problem found, without the member's name. */
  readonly problems: readonly string[];
  /** The first five problems in one line, and the number of the others. */
  readonly reason: string;

  /**
   * @param member file of the bundle that is at fault
   * @param problems at least one; each completes the sentence "`member`: ..."
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

/** @throws BundleError when there is at least one problem */
export function refuseIfAny(member: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new BundleError(member, problems);
}

function joinProblems(problems: readonly string[]): string {
  const named = problems.slice(0, maxNamedProblems).join('; ');
  const more = problems.length - maxNamedProblems;
  return more > 0 ? `${named}; and ${more} more` : named;
}

/** The bundle's author chooses the names in a message: they must not steer a terminal or fill a log. */
function printable(text: string): string {
  const cut = text.length > maxProblemLength ? `${text.slice(0, maxProblemLength)}...` : text;
  return cut.replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd');
}
