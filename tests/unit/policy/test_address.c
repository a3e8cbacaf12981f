/* Classes of addresses in every spelling, and cidrs. */
#include "support.h"

#include "policy/address.h"
#include "policy/egress.h"

struct class_case {
        const char *address;
        enum bh_address_class expected;
};

static const struct class_case classes[] = {
        /* public */
        {"8.8.8.8", BH_ADDRESS_PUBLIC},
        {"1.1.1.1", BH_ADDRESS_PUBLIC},
        {"100.63.255.255", BH_ADDRESS_PUBLIC},
        {"100.128.0.0", BH_ADDRESS_PUBLIC},
        {"172.15.255.255", BH_ADDRESS_PUBLIC},
        {"172.32.0.0", BH_ADDRESS_PUBLIC},
        {"169.253.255.255", BH_ADDRESS_PUBLIC},
        {"168.63.129.15", BH_ADDRESS_PUBLIC},
        {"168.63.129.17", BH_ADDRESS_PUBLIC},
        {"223.255.255.255", BH_ADDRESS_PUBLIC},
        {"2606:4700:4700::1111", BH_ADDRESS_PUBLIC},
        {"::ffff:8.8.8.8", BH_ADDRESS_PUBLIC},
        {"64:ff9b::8.8.8.8", BH_ADDRESS_PUBLIC},
        {"2002:808:808::1", BH_ADDRESS_PUBLIC},
        /* private */
        {"10.0.0.0", BH_ADDRESS_PRIVATE},
        {"10.255.255.255", BH_ADDRESS_PRIVATE},
        {"172.16.0.0", BH_ADDRESS_PRIVATE},
        {"172.31.255.255", BH_ADDRESS_PRIVATE},
        {"192.168.1.1", BH_ADDRESS_PRIVATE},
        {"100.64.0.1", BH_ADDRESS_PRIVATE},
        {"100.100.100.199", BH_ADDRESS_PRIVATE},
        {"100.100.100.201", BH_ADDRESS_PRIVATE},
        {"192.0.0.1", BH_ADDRESS_PRIVATE},
        {"192.0.2.1", BH_ADDRESS_PRIVATE},
        {"198.18.0.1", BH_ADDRESS_PRIVATE},
        {"198.51.100.1", BH_ADDRESS_PRIVATE},
        {"203.0.113.1", BH_ADDRESS_PRIVATE},
        {"fc00::1", BH_ADDRESS_PRIVATE},
        {"fd12:3456::1", BH_ADDRESS_PRIVATE},
        {"fec0::1", BH_ADDRESS_PRIVATE},
        {"2001:db8::1", BH_ADDRESS_PRIVATE},
        {"3fff::1", BH_ADDRESS_PRIVATE},
        {"100::1", BH_ADDRESS_PRIVATE},
        {"4000::1", BH_ADDRESS_PRIVATE},
        {"::ffff:10.9.0.5", BH_ADDRESS_PRIVATE},
        {"::10.9.0.5", BH_ADDRESS_PRIVATE},
        {"::ffff:0:10.9.0.5", BH_ADDRESS_PRIVATE},
        {"64:ff9b::10.9.0.5", BH_ADDRESS_PRIVATE},
        {"2002:a09:5::1", BH_ADDRESS_PRIVATE},
        /* loopback, unspecified, multicast, broadcast */
        {"127.0.0.1", BH_ADDRESS_FORBIDDEN},
        {"127.255.255.255", BH_ADDRESS_FORBIDDEN},
        {"0.0.0.0", BH_ADDRESS_FORBIDDEN},
        {"0.1.2.3", BH_ADDRESS_FORBIDDEN},
        {"224.0.0.1", BH_ADDRESS_FORBIDDEN},
        {"239.255.255.250", BH_ADDRESS_FORBIDDEN},
        {"240.0.0.1", BH_ADDRESS_FORBIDDEN},
        {"255.255.255.255", BH_ADDRESS_FORBIDDEN},
        {"::", BH_ADDRESS_FORBIDDEN},
        {"::1", BH_ADDRESS_FORBIDDEN},
        {"ff02::1", BH_ADDRESS_FORBIDDEN},
        {"::ffff:127.0.0.1", BH_ADDRESS_FORBIDDEN},
        {"::127.0.0.1", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b::127.0.0.1", BH_ADDRESS_FORBIDDEN},
        {"2002:7f00:1::1", BH_ADDRESS_FORBIDDEN},
        {"::ffff:0.0.0.0", BH_ADDRESS_FORBIDDEN},
        /* link-local and the metadata services, each in every form */
        {"169.254.0.1", BH_ADDRESS_FORBIDDEN},
        {"169.254.169.254", BH_ADDRESS_FORBIDDEN},
        {"::ffff:169.254.169.254", BH_ADDRESS_FORBIDDEN},
        {"::ffff:a9fe:a9fe", BH_ADDRESS_FORBIDDEN},
        {"::169.254.169.254", BH_ADDRESS_FORBIDDEN},
        {"::ffff:0:169.254.169.254", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b::169.254.169.254", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b::a9fe:a9fe", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b:1::a9fe:a9fe", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b:1:a9fe:a9:fe00::", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b:1:ffff:ffff:ffff:808:808", BH_ADDRESS_FORBIDDEN},
        {"2002:a9fe:a9fe::1", BH_ADDRESS_FORBIDDEN},
        {"2001:0:808:808::1", BH_ADDRESS_FORBIDDEN},
        {"100.100.100.200", BH_ADDRESS_FORBIDDEN},
        {"::ffff:100.100.100.200", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b::100.100.100.200", BH_ADDRESS_FORBIDDEN},
        {"2002:6464:64c8::", BH_ADDRESS_FORBIDDEN},
        {"168.63.129.16", BH_ADDRESS_FORBIDDEN},
        {"::ffff:168.63.129.16", BH_ADDRESS_FORBIDDEN},
        {"64:ff9b::168.63.129.16", BH_ADDRESS_FORBIDDEN},
        {"192.0.0.192", BH_ADDRESS_FORBIDDEN},
        {"fd00:ec2::254", BH_ADDRESS_FORBIDDEN},
        {"fd00:ec2::23", BH_ADDRESS_FORBIDDEN},
        {"fd20:ce::254", BH_ADDRESS_FORBIDDEN},
        {"fd00:c1::a9fe:a9fe", BH_ADDRESS_FORBIDDEN},
        {"fd00:42::42", BH_ADDRESS_FORBIDDEN},
        {"fe80::1", BH_ADDRESS_FORBIDDEN},
        {"febf::1", BH_ADDRESS_FORBIDDEN},
};

static void test_classify(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(classes); i++) {
                union address address = address_of(classes[i].address, 443);

                if (bh_address_classify(&address.any) != classes[i].expected)
                        fail_msg("%s is of class %d", classes[i].address,
                                 (int)bh_address_classify(&address.any));
        }
}

static void test_other_families_are_forbidden(void **state)
{
        struct sockaddr local = {.sa_family = AF_UNIX};
        struct bh_cidr cidr = {.family = AF_INET, .address = {10}, .prefix = 8};

        (void)state;
        assert_int_equal(bh_address_classify(&local), BH_ADDRESS_FORBIDDEN);
        assert_false(bh_cidr_contains(&cidr, &local));
}

static void test_cidr_parse(void **state)
{
        static const char *const good[] = {"10.9.1.0/28",   "10.9.0.5/32", "0.0.0.0/0",
                                           "2001:db8::/32", "::/0",        "fd00:1::5/128",
                                           "64:ff9b::/96"};
        static const char *const bad[] = {
                "",
                "10.9.1.0",
                "10.9.1.0/",
                "10.9.1.0/33",
                "/28",
                "10.9.1.1/28",
                "10.9.1.0/028",
                "10.9.1.0/+8",
                "10.9.1/24",
                "010.9.1.0/28",
                "10.9.1.0/28/1",
                "10.9.1.0/ 28",
                "fd00::/129",
                "fd00::1/64",
                "fe80::1%eth0/128",
                "::ffff:10.9.0.5/128",
                "0x0a.0.0.0/8",
                "::ffff:0:0/96",
                "10.9.1.0/28 ",
                "10.9.1.0/1e1",
                "db.test/32",
                "2001:db8::/32\n",
                "1111:2222:3333:4444:5555:6666:123.123.123.1234/1",
        };
        struct bh_cidr cidr;

        (void)state;
        for (size_t i = 0; i < COUNT(good); i++) {
                char text[BH_CIDR_TEXT_SIZE];

                if (bh_cidr_parse(good[i], &cidr) < 0)
                        fail_msg("refused: %s", good[i]);
                bh_cidr_format(&cidr, text);
                assert_string_equal(text, good[i]);
        }
        for (size_t i = 0; i < COUNT(bad); i++)
                if (bh_cidr_parse(bad[i], &cidr) == 0)
                        fail_msg("accepted: %s", bad[i]);
        assert_int_equal(bh_cidr_parse("FD00:0::/16", &cidr), 0);
}

static void test_cidr_contains(void **state)
{
        static const struct {
                const char *cidr, *address;
                bool inside;
        } cases[] = {
                {"10.9.1.0/28", "10.9.1.0", true},
                {"10.9.1.0/28", "10.9.1.15", true},
                {"10.9.1.0/28", "10.9.1.16", false},
                {"10.9.1.0/28", "::ffff:10.9.1.3", true},
                {"10.9.1.0/28", "64:ff9b::10.9.1.3", false},
                {"10.9.1.0/28", "::10.9.1.3", false},
                {"10.9.0.5/32", "10.9.0.5", true},
                {"10.9.0.5/32", "10.9.0.6", false},
                {"0.0.0.0/0", "8.8.8.8", true},
                {"0.0.0.0/0", "2606:4700::1", false},
                {"2001:db8::/33", "2001:db8:7fff::1", true},
                {"2001:db8::/33", "2001:db8:8000::1", false},
                {"fd00:1::5/128", "fd00:1::5", true},
                {"fd00:1::5/128", "fd00:1::4", false},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                union address address = address_of(cases[i].address, 1);
                struct bh_cidr cidr;

                assert_int_equal(bh_cidr_parse(cases[i].cidr, &cidr), 0);
                if (bh_cidr_contains(&cidr, &address.any) != cases[i].inside)
                        fail_msg("%s in %s", cases[i].address, cases[i].cidr);
        }
}

/* A range that reaches a forbidden address is itself forbidden, also when a carrier form lies
 * in it; and each forbidden single address is forbidden as a range of one. */
static void test_cidr_forbidden(void **state)
{
        static const struct {
                const char *cidr;
                bool forbidden;
        } cases[] = {
                {"10.0.0.0/8", false},     {"192.168.0.0/16", false},
                {"100.64.0.0/10", true},   {"100.100.100.0/24", true},
                {"100.101.0.0/16", false}, {"168.63.0.0/16", true},
                {"126.0.0.0/7", true},     {"128.0.0.0/1", true},
                {"8.0.0.0/7", false},      {"fc00::/7", true},
                {"fd12::/16", false},      {"2000::/3", true},
                {"2600::/8", false},       {"2002::/16", true},
                {"64:ff9b::/96", true},    {"64:ff9b::808:0/112", false},
                {"::/96", true},           {"fe80::/9", true},
                {"2002:a00::/24", false},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct bh_cidr cidr;

                assert_int_equal(bh_cidr_parse(cases[i].cidr, &cidr), 0);
                if (bh_cidr_forbidden(&cidr) != cases[i].forbidden)
                        fail_msg("%s", cases[i].cidr);
        }
        for (size_t i = 0; i < COUNT(classes); i++) {
                union address address = address_of(classes[i].address, 1);
                struct bh_cidr single;

                assert_int_equal(bh_address_cidr(&address.any, &single), 0);
                assert_int_equal(bh_cidr_forbidden(&single),
                                 classes[i].expected == BH_ADDRESS_FORBIDDEN);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_classify),
                cmocka_unit_test(test_other_families_are_forbidden),
                cmocka_unit_test(test_cidr_parse),
                cmocka_unit_test(test_cidr_contains),
                cmocka_unit_test(test_cidr_forbidden),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
