import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { ModelResponse } from '../../../shared/wire/response.ts'
import type {
  ResponseOwner,
  StoredResponse,
  StoredResponses,
} from '../../gateway/responses/stored-responses.ts'
import { requireKey } from './auth.ts'

const SHOW = {
  id: 'show-response',
  tag: 'inference',
  summary: 'Show a response that this key has stored.',
  answer: ModelResponse,
}
const Deleted = z.object({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
})
const DELETE = {
  id: 'delete-response',
  tag: 'inference',
  summary: 'Delete a response that this key has stored.',
  answer: Deleted,
}

interface Route {
  Params: { response_id: string }
}

export const createMissingResponseError = (id: string, param?: string): ShoalError =>
  new ShoalError(
    'not_found',
    `no response ${JSON.stringify(id.slice(0, 128))} is stored for this key`,
    param === undefined ? {} : { param },
  )

/** `GET` and `DELETE /v1/responses/{response_id}`. */
export const storedResponseRoutes: FastifyPluginAsync<{ responses: StoredResponses }> = async (
  app,
  { responses },
) => {
  app.get<Route>(
    '/v1/responses/:response_id',
    { config: { docs: SHOW } },
    async (request): Promise<StoredResponse['response']> => {
      const { response_id: id } = request.params
      const found = await responses.find(id, ownerOf(request))
      if (found === undefined) throw createMissingResponseError(id)
      return found.response
    },
  )

  app.delete<Route>(
    '/v1/responses/:response_id',
    { config: { docs: DELETE } },
    async (request): Promise<z.infer<typeof Deleted>> => {
      const { response_id: id } = request.params
      if (await responses.remove(id, ownerOf(request)))
        return { id, object: 'response', deleted: true }
      throw createMissingResponseError(id)
    },
  )
}

const ownerOf = (request: FastifyRequest): ResponseOwner => {
  const key = requireKey(request)
  return { keyId: key.id, tenantId: request.tenantId ?? key.tenantId }
}
