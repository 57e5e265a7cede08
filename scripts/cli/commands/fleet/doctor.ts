import type { Command } from 'commander';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import type { Checked } from '../../doctor/finding.js';
import { renderFields } from '../../output/table.js';
import { wrapText } from '../../output/wrap-text.js';
import { defineCommand, type JsonOption } from '../define-command.js';

/** Adds `doctor`. */
export function addDoctorCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'doctor',
    description: 'Look for mistakes in this installation: servers, settings, clocks, disks',
    examples: ['doctor'],
    notes: doctorNotes,
  }).action((options: JsonOption) => context.present(options, doctor(context)));
}

const doctorNotes = `
It compares the settings, releases and clocks of all running processes. It also
compares them with the settings of this command and with the keys in the database.
It writes nothing. Run it with the environment of a gateway.
Exit code 1: it found a mistake.`.trim();

async function doctor(context: CliContext): Promise<CommandResult> {
  const { examine } = await import('../../doctor/examine.js');
  const { facts, findings } = await examine(context);
  return {
    document: { mistakes: findings, checked: Object.fromEntries(facts) },
    text: textOf({ facts, findings }, lineWidth(context.stdout)),
    ...exitWhen(findings.length > 0),
  };
}

function textOf({ facts, findings }: Checked, width: number): string {
  const checked = renderFields(facts, { width });
  if (findings.length === 0) return `${checked}\n\nNo mistake found.`;
  const title = findings.length === 1 ? '1 mistake' : `${findings.length} mistakes`;
  const shown = findings.map(({ problem, harm, remedy }, index) => {
    const number = `${index + 1}. `;
    const indent = ' '.repeat(number.length);
    const head = wrapText(problem, width - number.length).replaceAll('\n', `\n${indent}`);
    const rest = renderFields(
      [
        ['Harm', harm],
        ['To do', remedy],
      ],
      { width: width - number.length },
    );
    return `${number}${head}\n${rest.replaceAll(/^/gm, indent)}`;
  });
  return [checked, title, ...shown].join('\n\n');
}
