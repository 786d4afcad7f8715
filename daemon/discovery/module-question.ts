import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import { MODULE_QUESTION_PATH, ModuleQuestion } from '../../shared/wire/findings.ts'
import type { Question } from '../questions/question.ts'
import { type ModuleRunParts, runModule } from './run-module.ts'

/** Exposes modules as a question; each item of the answer is a `ScanItem`. */
export const createModuleQuestion = (parts: ModuleRunParts): Question => ({
  prefix: MODULE_QUESTION_PATH,
  async *ask(id, given, signal) {
    const { data, error } = ModuleQuestion.safeParse(given)
    if (error !== undefined)
      throw new ShoalError('invalid_request', firstIssue(error, given).message)
    yield* runModule(parts, id, data.input, signal)
  },
})
