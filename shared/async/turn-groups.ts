interface Waiting<Call, Reply> {
  readonly call: Call;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** More than begin or end in one turn of a busy gateway; a bound for whoever sends thousands at once. */
const maxCallsOfGroup = 128;

/**
 * Sends the calls of one turn of the event loop together, those of each name as one group, in the order in which they
 * came. Nothing waits by time: a group is sent when the turn's events have been handled, or as soon as it is full.
 */
export class TurnGroups<Call, Reply> {
  private readonly open = new Map<string, Waiting<Call, Reply>[]>();
  private isScheduled = false;

  /**
   * @param send carries out a group's calls, in order, and gives the reply to each. `first` is the first of them: what
   * they have in common can be read from it.
   */
  constructor(
    private readonly send: (calls: readonly Call[], first: Call) => Promise<readonly Reply[]>,
    private readonly maxCalls = maxCallsOfGroup,
  ) {}

  /**
   * Adds a call to this turn's group of that name, and gives the reply to it.
   * @throws what `send` fails with, as every call of the group does; TypeError when it gave too few or too many replies
   */
  join(name: string, call: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const group = this.open.get(name) ?? this.openGroup(name);
      group.push({ call, resolve, reject });
      if (group.length < this.maxCalls) return;
      this.open.delete(name);
      void this.sendGroup(group);
    });
  }

  private openGroup(name: string): Waiting<Call, Reply>[] {
    const group: Waiting<Call, Reply>[] = [];
    this.open.set(name, group);
    if (this.isScheduled) return group;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      const groups = [...this.open.values()];
      this.open.clear();
      for (const open of groups) void this.sendGroup(open);
    });
    return group;
  }

  private async sendGroup(group: readonly Waiting<Call, Reply>[]): Promise<void> {
    const calls = group.map(({ call }) => call);
    const [first] = calls;
    if (first === undefined) return;
    try {
      const replies = await this.send(calls, first);
      if (replies.length !== calls.length)
        throw new TypeError(`${calls.length} calls were sent together, and ${replies.length} replies came`);
      for (const [index, reply] of replies.entries()) group[index]?.resolve(reply);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
