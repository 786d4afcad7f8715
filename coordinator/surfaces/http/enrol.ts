import type { FastifyPluginAsync } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import { EnrolAnswer, EnrolRequest } from '../../../shared/wire/announce.ts'
import { ENROL_PATH } from '../../../shared/wire/link.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import { shareOf } from '../../kernel/replicas/share.ts'
import { createRefusalLimit } from './refusal-limit.ts'

export interface EnrolParts {
  enrol: (request: EnrolRequest) => Promise<EnrolAnswer>
  /** The coordinators that share the limit of refused tokens; by default there is only this one. */
  replicas?: Pick<Replicas, 'live'> | undefined
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
export const enrolRoute: FastifyPluginAsync<EnrolParts> = async (app, { enrol, replicas }) => {
  const limited = createRefusalLimit({
    shareOf: limit => (replicas === undefined ? limit : shareOf(limit, replicas)),
  })
  app.post(
    ENROL_PATH,
    { config: { access: 'none', isUncounted: true, docs: DOCS }, bodyLimit: BODY_LIMIT_BYTES },
    async (request, reply) => {
      const result = EnrolRequest.safeParse(request.body)
      if (!result.success) {
        const { param, message } = firstIssue(result.error, request.body)
        throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
      }
      const answer = await limited(request.address, () => enrol(result.data))
      reply.code(201)
      return answer
    },
  )
}
