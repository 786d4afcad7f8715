import t from 'tap'
import {
  ERROR_RESPONSES,
  ERROR_SCHEMAS,
} from '../../../../coordinator/surfaces/http/error-forms.ts'
import type { OpenApiDocument } from '../../../../coordinator/surfaces/http/openapi.ts'
import { judgeBy } from '../../../support/fuzz/judge.ts'
import { fuzz } from '../../../support/fuzz/run.ts'

t.test('random requests over every route are answered as documented', async t => {
  const seed = 20_261_120
  const { calls, statuses, faults } = await fuzz({ count: 400, seed })
  t.equal(calls, 400)
  t.ok((statuses['200'] ?? 0) > 20, 'many are valid')
  t.same(faults, [], `seed ${seed}`)
})

t.test('an undocumented answer is detected', async t => {
  const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
  const error = { $ref: '#/components/responses/Error' }
  const responses = { 200: { content: { 'application/json': { schema } } }, 422: error }
  const components = { schemas: ERROR_SCHEMAS, responses: ERROR_RESPONSES }
  const document = { paths: { '/v1/x': { get: { responses } } }, components }
  const judge = judgeBy(document as unknown as OpenApiDocument)
  const call = { method: 'GET', route: '/v1/x', url: '/v1/x', key: 0, headers: {}, body: undefined }
  const answer = (status: number, body: unknown, type = 'application/json') =>
    judge(call, { status, type, body: JSON.stringify(body), requestId: 'r' })
  const whole = { message: 'm', type: 't', param: null, code: 'internal' }
  t.equal(answer(200, { a: 1 }), undefined)
  t.match(answer(200, { a: 'x' }), /does not fit/)
  t.match(answer(200, { a: 1 }, 'image/png'), /not described/)
  t.match(answer(201, { a: 1 }), /201 is not described/)
  t.match(answer(500, { error: whole }), /unexpected 500/)
  t.equal(answer(422, { error: whole }), undefined)
  t.match(answer(422, { detail: 'x' }), /422 does not fit/)
  t.match(
    judge(call, { status: 200, type: 'application/json', body: '{', requestId: 'r' }),
    /no JSON/,
  )
  t.match(judge(call, { status: 200, type: '', body: '', requestId: null }), /no x-request-id/)
})
