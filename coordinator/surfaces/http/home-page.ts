import { code, html } from './docs/html.ts'
import type { Health } from './health.ts'
import type { PublicUrls } from './public-urls.ts'

interface HomeFacts {
  /** Name of the coordinator in the configuration. */
  name: string
  version: string
  health: Health
  urls: PublicUrls
  /** A chat model for the first request; undefined when the catalogue has none. */
  model: string | undefined
}

const STYLE = `
:root{color-scheme:light dark}
body{margin:0 auto;padding:1.5rem;max-width:44rem;font:16px/1.5 system-ui,sans-serif}
h2{margin:2rem 0 .5rem;font-size:1.125rem}
a{color:light-dark(#0757a8,#7db7f5)}
table{border-collapse:collapse}
th{padding:.125rem 1.5rem .125rem 0;text-align:left;font-weight:400;vertical-align:top}
@media(max-width:30rem){th,td{display:block}td{padding-bottom:.25rem}}
pre{padding:.75rem;overflow:auto;background:#8881;border-radius:.25rem;font-size:.8125rem}
code{font:.875em ui-monospace,monospace;overflow-wrap:anywhere}
pre code{font-size:1em}
`

/** The page at the bare address of the service, which runs and loads nothing. */
export const homePage = ({
  name,
  version,
  health,
  urls,
  model,
}: HomeFacts): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>shoal ${html(version)}: ${html(name)}</title>
<style>${STYLE}</style></head>
<body>
<h1>shoal</h1>
<p>One service out of a fleet of GPU cells, robots and edge devices. This is the coordinator
<strong>${html(name)}</strong>, version ${html(version)}.</p>
<h2>Status</h2>
${table(statusRows(health))}
<h2>Addresses</h2>
${table(addressRows(urls))}
${model === undefined ? '' : firstRequest(urls.base, model)}
<h2>Documents</h2>
${table(documentRows(urls))}
</body>
</html>
`

type Row = readonly [name: string, markup: string]

const table = (rows: readonly Row[]): string =>
  `<table>\n${rows.map(([name, markup]) => `<tr><th>${html(name)}</th><td>${markup}</td></tr>`).join('\n')}\n</table>`

const STATES: Record<Health['status'], string> = {
  ok: 'ok: every model of the catalogue can be used',
  degraded: 'degraded: some models of the catalogue cannot be used',
  unavailable: 'unavailable: no cell serves a model',
}

const statusRows = ({ status, cells, models, latency_ms }: Health): Row[] => [
  ['Service', html(STATES[status])],
  ['Cells', String(cells)],
  ['Models loaded', String(models)],
  ['Round trip to the cells', cells === 0 ? 'no cells' : `${latency_ms} ms`],
]

const addressRows = ({ base, a2a, mcp }: PublicUrls): Row[] => [
  ["OpenAI's API", code(`${base}/v1`)],
  ["Ollama's API", code(base)],
  ['Agents (A2A)', code(a2a)],
  ['Tools (MCP)', code(mcp)],
]

const documentRows = ({ base, docs, portal }: PublicUrls): Row[] => [
  ...(portal === undefined ? [] : [['Portal', link(portal)] as const]),
  ['Manual of the API', link(docs)],
  ['The same as OpenAPI', link(`${base}/v1/openapi.json`)],
  ['Agent card', link(`${base}/.well-known/agent.json`)],
]

const link = (url: string): string => `<a href="${html(url)}"><code>${html(url)}</code></a>`

const firstRequest = (base: string, model: string): string => {
  const messages = JSON.stringify([{ role: 'user', content: 'What is a cell?' }])
  const lines = [
    'export SHOAL_KEY=svc-dev-…',
    `curl "${base}/v1/chat/completions" \\`,
    '  -H "Authorization: Bearer $SHOAL_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"model":${JSON.stringify(model)},"temperature":0,`,
    `       "messages":${messages}}'`,
  ]
  return `<h2>First request</h2>
<p>Put your key in place of ${code('svc-dev-…')}; an operator of this service can give you one.</p>
<pre><code>${html(lines.join('\n'))}</code></pre>`
}
