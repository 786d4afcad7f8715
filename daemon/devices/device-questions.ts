import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import { DEVICE_QUESTION_PATH } from '../../shared/wire/device-question.ts'
import type { Question } from '../questions/question.ts'
import type { DeviceQuestion, DeviceQuestionContext } from './questions/device-question.ts'

/** Answers the questions about devices of the list. */
export const createDeviceQuestions = (
  questions: readonly DeviceQuestion[],
  context: Omit<DeviceQuestionContext, 'signal' | 'level'>,
): Question => ({
  prefix: DEVICE_QUESTION_PATH,
  async *ask(name, given, signal, level) {
    const question = questions.find(one => one.name === name)
    if (question === undefined)
      throw new ShoalError('not_found', `this cell does not support the device question ${name}`)
    const input = question.input.safeParse(given)
    if (!input.success)
      throw new ShoalError('invalid_request', firstIssue(input.error, given).message)
    yield* question.ask(input.data, { ...context, signal, level })
  },
})
