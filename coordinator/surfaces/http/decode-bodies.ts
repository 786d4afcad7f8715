import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { decodeBody } from '../../../shared/decode-body.ts'
import { UPLOAD_LIMIT_BYTES } from './receive-upload.ts'

/** Decodes the bodies of Fastify's routes, within the limit of the route for decoded bytes. */
export const decodeBodies = fp(async (app: FastifyInstance) => {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    try {
      done(null, decodeBody(request.headers, request.raw, maxBytesOf(request)))
    } catch (error) {
      done(error as Error, payload)
    }
  })
})

const maxBytesOf = ({ routeOptions }: FastifyRequest): number =>
  routeOptions.config.operation?.upload === undefined
    ? (routeOptions.bodyLimit ?? 0)
    : UPLOAD_LIMIT_BYTES
