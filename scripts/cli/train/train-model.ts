import type { CliContext } from '../context/cli-context.js';
import { namedPython, trainingPython } from './python-environment.js';
import { runTraining, type TrainingRun } from './run-training.js';
import type { TrainOptions } from './train-options.js';
import type { FinishedTraining } from './training-messages.js';
import { TrainingScreen } from './training-screen.js';

/** Trains with the interpreter of the options, and shows how far it is. */
export async function train(
  context: CliContext,
  { python: named, json }: TrainOptions,
  run: Omit<TrainingRun, 'python'>,
): Promise<FinishedTraining> {
  const screen = new TrainingScreen(context, json === true);
  const { signal } = run;
  const say = screen.say.bind(screen);
  const python = named === undefined ? await trainingPython({ say, signal }) : await namedPython(named, signal);
  screen.start();
  return await runTraining({ ...run, python }, screen).finally(() => screen.stop());
}
