import type { FastifyPluginAsync } from 'fastify'
import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import { EnrolAnswer, EnrolRequest } from '../../shared/wire/announce.ts'
import { ENROL_PATH } from '../../shared/wire/link.ts'
import { createRefusalLimit } from './refusal-limit.ts'

export interface EnrolParts {
  enrol: (request: EnrolRequest) => Promise<EnrolAnswer>
}

/** Anybody may send it. */
const BODY_LIMIT_BYTES = 4096

const DOCS = {
  id: 'enrol-cell',
  tag: 'cells',
  summary: 'Exchange a join token, once, for the id and credential of a cell.',
  body: EnrolRequest,
  answer: EnrolAnswer,
  status: 201,
}

/** Route where a daemon exchanges its join token, once, for an id and a credential. */
export const enrolRoute: FastifyPluginAsync<EnrolParts> = async (app, { enrol }) => {
  const limited = createRefusalLimit()
  app.post(
    ENROL_PATH,
    { config: { access: 'none', docs: DOCS }, bodyLimit: BODY_LIMIT_BYTES },
    async (request, reply) => {
      const result = EnrolRequest.safeParse(request.body)
      if (!result.success) {
        const { param, message } = firstIssue(result.error, request.body)
        throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
      }
      const answer = await limited(request.ip, () => enrol(result.data))
      reply.code(201)
      return answer
    },
  )
}
