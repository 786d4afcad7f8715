import {
  documentText,
  RERANK_RULES,
  type RerankAnswer,
  type RerankRequest,
} from '../../../shared/wire/rerank.ts'
import type { RouteContext } from './context.ts'
import {
  announceUsage,
  endWithUsage,
  type HttpRequest,
  type HttpResponse,
  readBodyOf,
  runOnAbort,
  sendError,
} from './http.ts'
import { findModel } from './models.ts'
import { traceDoor } from './trace-job.ts'

/** `POST /v1/rerank`. @throws ShoalError before anything is sent */
export const rerank = async (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
  context: RouteContext,
): Promise<void> => {
  const body = await readBodyOf(RERANK_RULES, request, response)
  const { entry, engine } = findModel(context.engines, body.model, 'rerank')
  const { model, query } = body
  const documents = body.documents.map(documentText)
  const traced = traceDoor(engine, { operation: 'rerank', body, request, gone })
  const cancel = traced.submit(
    { type: 'rank', query, documents, contextLength: entry.context_length },
    documents.reduce((sum, { length }) => sum + length, query.length),
    event => {
      if (event.type === 'error') sendError(response, event.error)
      else if (event.type === 'scores' && !gone.aborted) {
        const { scores, promptTokens } = event
        const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
        const results = rankResults(body, documents, scores)
        send(response, {
          id: `rerank-${context.newId()}`,
          object: 'list',
          model,
          results,
          usage,
          meta: { tokens: { input_tokens: promptTokens } },
        })
      }
    },
  )
  runOnAbort(gone, cancel)
}

/** The best first; equal scores keep the order of the request. */
const rankResults = (
  { top_n, return_documents }: RerankRequest,
  documents: readonly string[],
  scores: readonly number[],
): RerankAnswer['results'] =>
  scores
    .map((relevance_score, index) => ({ index, relevance_score }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, top_n ?? scores.length)
    .map(result =>
      return_documents === true
        ? { ...result, document: { text: documents[result.index] ?? '' } }
        : result,
    )

const send = (response: HttpResponse, answer: RerankAnswer): void => {
  response.setHeader('content-type', 'application/json')
  announceUsage(response)
  response.write(JSON.stringify(answer))
  endWithUsage(response, { ...answer.usage, completion_tokens: 0 })
}
