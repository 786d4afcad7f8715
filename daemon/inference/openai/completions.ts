import { ShoalError } from '../../../shared/errors.ts'
import {
  COMPLETION_RULES,
  type Completion,
  type CompletionRequest,
} from '../../../shared/wire/completions.ts'
import { HEADER_MAX_TOKENS } from '../../../shared/wire/link.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import type { EngineDoor } from '../engine-view.ts'
import type { EngineEvent } from '../jobs.ts'
import type { AnswerHead } from './answer-head.ts'
import { headerNumber } from './chat.ts'
import { CompletionChoice } from './completion-choice.ts'
import { type CompletionPlan, completionPlan, type Runner } from './completion-order.ts'
import { StreamedCompletion } from './completion-stream.ts'
import { CompletionTotals } from './completion-totals.ts'
import type { RouteContext } from './context.ts'
import {
  announceUsage,
  endWithUsage,
  type HttpRequest,
  type HttpResponse,
  readBodyOf,
  runOnAbort,
} from './http.ts'
import { findModel } from './models.ts'
import { traceDoor } from './trace-job.ts'

/**
 * `POST /v1/completions`. The answers of one request are made one after another, so that it never
 * holds more than one slot; the next to the same prompt finds it read already.
 *
 * @throws ShoalError before anything is sent
 */
export const completions = async (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
  context: RouteContext,
): Promise<void> => {
  const body = await readBodyOf(COMPLETION_RULES, request, response)
  const { entry, engine } = findModel(context.engines, body.model, 'chat')
  const bound = headerNumber(request, HEADER_MAX_TOKENS)
  const plan = completionPlan(body, entry.context_length, bound, context.newSeed)
  const head = {
    id: `cmpl-${context.newId()}`,
    created: Math.floor(context.now() / 1000),
    model: body.model,
  }
  const traced = traceDoor(engine, { operation: 'text_completion', body, request, gone })
  const run = createRunner(traced, gone)
  if (body.stream !== true) return sendWholeAnswer(response, body, head, plan, run)
  const stream = new StreamedCompletion(response, body, head, plan, context.repeat)
  runOnAbort(gone, () => stream.close())
  await stream.run(run)
}

/** Runs one prompt after the other; only the first may be refused because of a full queue. */
const createRunner = (engine: EngineDoor, gone: AbortSignal): Runner => {
  let follows = false
  return ({ work, bytes }, hear) =>
    new Promise((resolve, reject) => {
      const listen = (event: EngineEvent): void => {
        if (event.type === 'error') reject(event.error)
        else if (event.type !== 'vectors' && event.type !== 'scores') hear(event)
        if (event.type === 'end') resolve()
      }
      const cancel = engine.submit(work, bytes, listen, { follows })
      follows = true
      runOnAbort(gone, () => {
        cancel()
        reject(new ShoalError('client_closed', 'the client has disconnected'))
      })
    })
}

const sendWholeAnswer = async (
  response: HttpResponse,
  body: CompletionRequest,
  head: AnswerHead,
  plan: CompletionPlan,
  run: Runner,
): Promise<void> => {
  const totals = new CompletionTotals(plan.asked)
  const choices: Completion['choices'] = []
  for (const works of plan.prompts) {
    const made: CompletionChoice[] = []
    for (const [answer, work] of works.entries()) {
      const choice = new CompletionChoice()
      made.push(choice)
      await run(work, event => {
        totals.count(event, answer === 0)
        if (event.type === 'echo') choice.echo(event)
        else if (event.type === 'text') choice.push(event)
        else if (event.type === 'end') choice.end(event)
      })
    }
    for (const choice of selectBest(made, plan.given))
      choices.push(choice.toJson(choices.length, body.logprobs ?? null))
  }
  send(response, { ...head, object: 'text_completion', choices, usage: totals.usage }, totals)
}

/** Answers with the highest log probability per token, the best first, otherwise in order. */
const selectBest = (
  made: readonly CompletionChoice[],
  given: number,
): readonly CompletionChoice[] =>
  made.length === given
    ? made
    : made.toSorted((a, b) => b.confidence - a.confidence).slice(0, given)

const send = (
  response: HttpResponse,
  completion: Completion & { usage: Usage },
  totals: CompletionTotals,
): void => {
  if (totals.lowered !== undefined) response.setHeader(HEADER_MAX_TOKENS, String(totals.lowered))
  response.setHeader('content-type', 'application/json')
  announceUsage(response)
  response.write(JSON.stringify(completion))
  endWithUsage(response, completion.usage)
}
