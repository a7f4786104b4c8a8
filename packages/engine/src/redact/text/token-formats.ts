/**
 * Types with how their tokens begin. Each looks at a bounded number of characters; where one fits, the rest of the run
 * of letters, digits, dots and dashes is taken for the token.
 */
export const KNOWN_TOKENS: readonly (readonly [type: string, ...beginnings: string[]])[] = [
  ["GITHUB_TOKEN", "gh[pousr]_[A-Za-z0-9]{20}", "github_pat_\\w{20}"],
  ["GITLAB_TOKEN", "gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|oas|agent|imt|ffct|wt)-[\\w-]{16}"],
  ["SLACK_TOKEN", "xox[a-z](?:\\.xox[a-z])?-[\\w-]{10}", "xapp-\\d-[\\w-]{10}"],
  ["STRIPE_KEY", "[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10}", "whsec_[A-Za-z0-9]{16}"],
  ["ANTHROPIC_KEY", "sk-ant-[\\w-]{12}"],
  ["OPENAI_KEY", "sk-(?:proj|svcacct|admin|None|or-v1)-[\\w-]{16}", "sk-[\\w-]{0,16}?[A-Za-z0-9]{16}"],
  ["GOOGLE_KEY", "AIza[\\w-]{30}", "ya29\\.[\\w-]{16}", "GOCSPX-[\\w-]{20}"],
  ["NPM_TOKEN", "npm_[A-Za-z0-9]{30}"],
  ["PYPI_TOKEN", "pypi-Ag[\\w-]{30}"],
  ["SENDGRID_KEY", "SG\\.[\\w-]{16}"],
  ["TWILIO_KEY", "SK[0-9a-fA-F]{32}(?![0-9a-fA-F])"],
  ["AWS_KEY_ID", "A(?:KIA|SIA|ROA|IDA|IPA|NPA|NVA|GPA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["VAULT_TOKEN", "hv[sbr]\\.[\\w-]{20}"],
  ["DISCORD_TOKEN", "[MNO][\\w-]{22,27}\\.[\\w-]{6,7}\\.[\\w-]{27}"],
  [
    "API_TOKEN",
    "do[opr]_v1_[0-9a-f]{32}",
    "hf_[A-Za-z0-9]{30}",
    "dapi[0-9a-f]{32}",
    "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "sq0(?:atp|csp|idp)-[\\w-]{20}",
    "key-[0-9a-f]{32}(?![0-9a-f])",
    "AT(?:ATT|CTT|BB)[\\w-]{20}",
    "AGE-SECRET-KEY-1[0-9A-Z]{20}",
    "(?:lin_api|ntn|figd|glc|glsa|sntry[su]|dckr_pat|rubygems|pscale_(?:tkn|pw|oauth)|gsk|r8|sbp)_[A-Za-z0-9-]{20}",
    "(?:PMAK|NRAK|pplx|xai|pul)-[A-Za-z0-9]{20}",
    "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9]{30}",
  ],
];
