import t from 'tap'
import { findMissing } from '../../../discovery/upstreams/find-missing.ts'
import { SOURCES } from '../../../discovery/upstreams/sources.ts'
import { openScene } from '../../support/coordinator.ts'
import { openUpstreamServer } from '../../support/upstream-server.ts'

t.test('A field is missing when no member of its list has it', async t => {
  const body = { a: [{ b: 1 }, { b: 2, c: null }], empty: [] }
  t.same(findMissing(body, ['a[].b', 'a[].c', 'a']), [])
  t.same(findMissing(body, ['a[].d', 'empty[].b', 'a.b', 'x']), ['a[].d', 'empty[].b', 'a.b', 'x'])
  t.same(findMissing([{ id: 1 }], ['[].id', '[].name']), ['[].name'])
})

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
  t.match(await verify('brightsky'), { sources: [{ outcome: 'failed', message: /page/ }] })
  t.match(await verify('entsoe'), { sources: [{ outcome: 'skipped', message: /key/ }] })
  t.match(await verify('nobody'), { error: { code: 'not_found' } })
  t.same(
    server.requests.map(({ source }) => source),
    ['metno', 'wheretheiss', 'brightsky'],
    'each is asked once',
  )
})
