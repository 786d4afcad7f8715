import t from 'tap'
import { findMissing } from '../../../../discovery/upstreams/find-missing.ts'
import { SOURCES } from '../../../../discovery/upstreams/sources.ts'
import { verifySource } from '../../../../discovery/upstreams/verify-source.ts'
import { openScene } from '../../../support/coordinator.ts'
import { empty, fixtureFor, LOOKUP_CASES, readFixture } from '../../../support/lookup-cases.ts'
import { openUpstreamServer } from '../../../support/upstream-server.ts'

t.test('A field is missing when no member of its list has it', async t => {
  const body = { a: [{ b: 1 }, { b: 2, c: null }], empty: [] }
  t.same(findMissing(body, ['a[].b', 'a[].c', 'a']), [])
  t.same(findMissing(body, ['a[].d', 'empty[].b', 'a.b', 'x']), ['a[].d', 'empty[].b', 'a.b', 'x'])
  t.same(findMissing([{ id: 1 }], ['[].id', '[].name']), ['[].name'])
})

t.test(
  'The check of each source fits its fixture, and names what an empty answer lacks',
  async t => {
    const fixtures = new Map(LOOKUP_CASES.map(each => [each.source, each.files]))
    for (const source of SOURCES.filter(({ verify }) => verify !== undefined)) {
      const files = fixtures.get(source.id)
      if (files === undefined) continue
      const body = readFixture(source.id, fixtureFor(files, source.verify?.path ?? ''))
      const look = (answer: unknown) =>
        verifySource(source, {
          ask: async () => ({ status: 200, headers: {}, body: answer, source: {} as never }),
          settings: { hasKey: () => true, hasOwnUrl: () => true } as never,
        })
      t.match(await look(body), { outcome: 'complete', missing: [] }, source.id)
      t.match(await look(empty(body)), { outcome: 'incomplete', missing: [/./] }, source.id)
    }
  },
)

t.test('An operator sees which fields of a source are missing', async t => {
  const server = await openUpstreamServer(t, {
    metno: 'nulls.json',
    wheretheiss: 'good.json',
    brightsky: 'html',
  })
  const sources = Object.fromEntries(SOURCES.map(({ id }) => [id, { url: server.urlOf(id) }]))
  const { app, demo } = await openScene(t, { config: { upstreams: { sources } } })
  const verify = async (source?: string) => {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/upstreams/verify',
      headers: { authorization: `Bearer ${demo.operator}`, 'content-type': 'application/json' },
      payload: source === undefined ? {} : { source },
    })
    return response.json()
  }
  t.match(await verify('metno'), {
    outcome: 'incomplete',
    sources: [{ outcome: 'incomplete', missing: ['properties.meta.updated_at'] }],
  })
  t.match(await verify('wheretheiss'), { outcome: 'complete', sources: [{ missing: [] }] })
  t.match(await verify('brightsky'), {
    outcome: 'failed',
    sources: [{ outcome: 'failed', message: /page/ }],
  })
  t.match(await verify('entsoe'), {
    outcome: 'skipped',
    sources: [{ outcome: 'skipped', message: /key/ }],
  })
  t.match(await verify('nobody'), { error: { code: 'not_found' } })
  t.same(
    server.requests.map(({ source }) => source),
    ['metno', 'wheretheiss', 'brightsky'],
    'each is asked once',
  )
})

t.test('Without egress no source is asked, which is no success', async t => {
  const { app, demo } = await openScene(t, { config: { upstreams: { egress: 'off' } } })
  const response = await app.inject({
    method: 'POST',
    url: '/v1/upstreams/verify',
    headers: { authorization: `Bearer ${demo.operator}`, 'content-type': 'application/json' },
    payload: { source: 'metno' },
  })
  t.match(response.json(), {
    outcome: 'skipped',
    sources: [{ outcome: 'skipped', message: 'upstreams.egress is off' }],
  })
})
