import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type { Base } from '../../kernel/base/base.ts'
import { sendError, toShoalError } from './errors.ts'
import type { ListenerSettings } from './public-config.ts'
import { refuseSocket } from './refuse-socket.ts'
import { RunningAnswers } from './running.ts'
import { newRequestId, serverLimits } from './safety.ts'
import { TrustedProxies } from './trusted-proxies.ts'

interface ServerParts {
  config: ListenerSettings
  logger: Logger
  /** Certificate chain and private key, PEM; plain HTTP without. */
  shown?: { cert: string; key: string } | undefined
}

/**
 * The server of all surfaces, without routes. It opens before the parts that keep connections and
 * streams, because closing it waits until they have ended those.
 */
export const openServer = (
  parts: ServerParts & Pick<Base, 'stack' | 'runtime'>,
): { app: FastifyInstance; running: RunningAnswers; closeServer: () => Promise<void> } => {
  const app = createServer(parts)
  let closing: Promise<void> | undefined
  const closeServer = (): Promise<void> => {
    closing ??= app.close()
    return closing
  }
  parts.stack.defer(closeServer)
  return { app, running: new RunningAnswers(parts.runtime), closeServer }
}

export const createServer = ({ config, logger, shown }: ServerParts): FastifyInstance => {
  const limits = serverLimits(config)
  const app: FastifyInstance = Fastify({
    ...limits,
    // a request that was on its way when the server stopped to listen is served as any other
    return503OnClosing: false,
    // Fastify ignores its `http` options when `https` is given
    ...(shown && {
      https: {
        ...limits.http,
        handshakeTimeout: limits.http.headersTimeout,
        cert: shown.cert,
        key: shown.key,
      },
    }),
    loggerInstance: warningsOnly(logger),
    // one logger for all requests: a child of it for each costs more than most requests say
    childLoggerFactory: logger => logger,
    schemaController: { compilersFactory: NO_SCHEMAS },
    logController: new LogController({ disableRequestLogging: true }),
    clientErrorHandler: (error, socket) => void refuseSocket(app, error, socket as Socket),
    frameworkErrors: (error, request, reply) => void refuseRequest(app, error, request, reply),
  }) as unknown as FastifyInstance
  const proxies = new TrustedProxies(config.http.trusted_proxies)
  app.decorateRequest('address', {
    getter() {
      return proxies.clientAddress(this.raw)
    },
  })
  app.server.on('checkContinue', continueWhenRead)
  return app
}

const refuseSchemas = (): never => {
  throw new TypeError('a route has no schema of its own: the pipeline checks and writes bodies')
}

/** No route has a schema. Fastify would load its compilers all the same, a hundred files. */
const NO_SCHEMAS = {
  buildValidator: () => refuseSchemas,
  buildSerializer: () => refuseSchemas,
}

/** Asks for a body only when it is read: a refused request is answered before the body is sent. */
const continueWhenRead = function (
  this: Server,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  request.once('resume', () => {
    if (!response.headersSent) response.writeContinue()
  })
  this.emit('request', request, response)
}

/** Passes on warnings only: Fastify's own messages are of no use to an operator, failures are. */
const warningsOnly = (logger: Logger): Logger =>
  logger.isLevelEnabled('info') ? logger.child({}, { level: 'warn' }) : logger

/** A URL that cannot be decoded never reaches a hook. */
const refuseRequest = async (
  app: FastifyInstance,
  failure: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const asker = { id: newRequestId(), address: request.address, key: undefined }
  sendError(reply.headers(await app.answerHeaders(asker)), toShoalError(failure))
}
