import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { CredentialAnswer, LeaveAnswer, SelfAnswer } from '../../../shared/wire/cell-self.ts'
import {
  CREDENTIAL_PATH,
  HEADER_BOOT_ID,
  LEAVE_PATH,
  SELF_PATH,
} from '../../../shared/wire/link.ts'
import type { TrustBody } from '../../../shared/wire/trust.ts'
import { type CellCaller, NO_BOOT_ID } from '../../fleet/enrolment/admission.ts'
import type { EnrolledCell } from '../../fleet/enrolment/cell.ts'
import type { AuthParts } from './auth.ts'
import { basicAuth, createCredentialError } from './basic-auth.ts'
import { cellCallerOf, isProbe } from './cell-caller.ts'
import type { RouteDocs } from './route-docs.ts'

export interface CellSelfParts {
  authenticate: (
    cellId: string,
    credential: string,
    caller?: CellCaller,
  ) => Promise<EnrolledCell | undefined>
  /**
   * Reports the start of the daemon that makes the request. Throws `forbidden` when another start
   * has its identity.
   */
  noteArrival: (cellId: string, bootId: string) => void
  renew: (cellId: string) => Promise<string>
  leave: (cellId: string) => Promise<unknown>
  trust: () => TrustBody
  /** Unix time, milliseconds. */
  now: () => number
}

const docs = { tag: 'cells', scheme: 'cell' } as const
const SELF: RouteDocs = {
  ...docs,
  id: 'cell-self',
  summary: "Return the coordinator's record of the calling cell.",
  answer: SelfAnswer,
}
const RENEW: RouteDocs = {
  ...docs,
  id: 'renew-credential',
  summary:
    'Issue a new credential for the calling cell; the old one stays valid until the new one is used.',
  answer: CredentialAnswer,
  status: 201,
}
const LEAVE: RouteDocs = {
  ...docs,
  id: 'leave-fleet',
  summary: 'Remove the calling cell from the fleet permanently.',
  answer: LeaveAnswer,
}
const toRouteOptions = (docs: RouteDocs) => ({
  config: { access: 'none' as const, isUncounted: true, docs },
})

/**
 * Routes that a cell calls with its own credential. As with upgrades, each request belongs to one
 * start of the daemon; a request without a boot id, or a probe, belongs to none.
 */
export const cellSelfRoutes: FastifyPluginAsync<
  CellSelfParts & Pick<AuthParts, 'anonymous'>
> = async (app, parts) => {
  const { noteArrival, renew, leave, trust, now } = parts
  const requireCell = async (
    request: FastifyRequest,
    caller?: CellCaller,
  ): Promise<EnrolledCell> => {
    const { cellId, credential } = basicAuth(request.headers.authorization)
    const { cell_id } = request.params as { cell_id: string }
    const cell = await parts.authenticate(cellId, credential, caller)
    if (cell === undefined) {
      // valid ones do not count: a whole fleet may have one address
      parts.anonymous.count(request.address)
      throw createCredentialError()
    }
    if (cell.id !== cell_id)
      throw new ShoalError('forbidden', `the credential does not belong to ${cell_id}`)
    return cell
  }

  const requireCaller = async (request: FastifyRequest): Promise<CellCaller & { id: string }> => {
    const caller = cellCallerOf(request.raw, request.address)
    const { id } = await requireCell(request, caller)
    return { id, ...caller }
  }

  app.get(SELF_PATH, toRouteOptions(SELF), async (request): Promise<SelfAnswer> => {
    const caller = isProbe(request.raw) ? undefined : cellCallerOf(request.raw, request.address)
    const { id, name, tags, renewedAt } = await requireCell(request, caller)
    if (caller !== undefined && caller.bootId !== NO_BOOT_ID) noteArrival(id, caller.bootId)
    return { cell_id: id, name, tags, credential_at: renewedAt, now: now(), ...trust() }
  })

  app.post(
    CREDENTIAL_PATH,
    toRouteOptions(RENEW),
    async (request, reply): Promise<CredentialAnswer> => {
      const { id, bootId } = await requireCaller(request)
      if (bootId === NO_BOOT_ID)
        throw new ShoalError('invalid_request', `send ${HEADER_BOOT_ID}`, { param: HEADER_BOOT_ID })
      noteArrival(id, bootId)
      const credential = await renew(id)
      reply.code(201)
      return { credential }
    },
  )

  app.post(LEAVE_PATH, toRouteOptions(LEAVE), async (request): Promise<LeaveAnswer> => {
    const { id, bootId } = await requireCaller(request)
    noteArrival(id, bootId)
    await leave(id)
    return { id }
  })
}
