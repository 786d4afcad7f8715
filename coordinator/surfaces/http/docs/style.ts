/** The look of the page; everything is on it, because it may load nothing. */
export const STYLE = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--accent:light-dark(#0757a8,#7db7f5)}
*{box-sizing:border-box}
body{margin:0;font:16px/1.5 system-ui,sans-serif;display:flex;flex-direction:column}
header{order:-1}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
header,main{padding:0 1.5rem;max-width:62rem}
nav{padding:1rem 1.5rem;font-size:.875rem}
nav b{display:block;margin-top:.75rem;text-transform:capitalize}
nav a{display:block;padding-left:1rem;text-indent:-1rem;overflow-wrap:anywhere}
@media(min-width:64rem){
body{display:grid;grid-template-rows:auto 1fr;grid-template-columns:20rem minmax(0,1fr)}
header{order:0}
nav{grid-row:1/3;position:sticky;top:0;height:100vh;overflow:auto;border-right:1px solid var(--line)}
}
h2{margin:2.5rem 0 0;text-transform:capitalize}
h3{margin:0;font-size:1rem;font-weight:400}
h4{margin:1rem 0 .25rem;font-size:.875rem}
.route{margin:1rem 0;padding:1rem;border:1px solid var(--line);border-radius:.5rem}
.route:target{outline:2px solid var(--accent)}
.route h3 b{display:inline-block;min-width:4.5rem;padding:0 .5rem;border-radius:.25rem;color:#fff;text-align:center}
.get{background:#1d6f42}.post{background:#0757a8}.put{background:#8a5a00}.delete{background:#a32020}
.access{color:light-dark(#555,#aaa);font-size:.875rem}
p{margin:.5rem 0}
pre{margin:0;padding:.75rem;overflow:auto;background:var(--soft);border-radius:.25rem;font-size:.8125rem}
code{font:.875em ui-monospace,monospace;overflow-wrap:anywhere}
h3 code{font-size:1rem}
table{width:100%;border-collapse:collapse;font-size:.875rem}
th{text-align:left;font-weight:600}
th,td{padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
td:first-child{width:35%}td:nth-child(2){width:25%}
td i{font-size:.75rem;color:light-dark(#a32020,#f19a9a)}
details{margin:.75rem 0}summary{cursor:pointer;font-size:.875rem;font-weight:600}
`
