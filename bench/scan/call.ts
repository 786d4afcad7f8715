/** Calls a skill of a coordinator: `call.ts URL KEY SKILL INPUT`. Prints time, status and findings. */
const [url = '', key = '', skill = '', input = '{}'] = process.argv.slice(2)
const startedAt = performance.now()
const response = await fetch(`${url}/v1/skills/${skill}`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: input,
})
const { findings, modules } = (await response.json()) as {
  findings?: object[]
  modules?: { module: string; outcome: string; reason: string | null; findings: number | null }[]
}
const failed = (modules ?? []).filter(({ outcome }) => outcome === 'failed')
process.stdout.write(
  JSON.stringify({
    status: response.status,
    ms: performance.now() - startedAt,
    findings: findings?.length ?? modules?.reduce((sum, each) => sum + (each.findings ?? 0), 0),
    failed: failed.map(({ module, reason }) => `${module}: ${reason}`),
  }),
)
